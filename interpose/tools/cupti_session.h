// The session with CUPTI that the option --cupti asks for: its records of memory are compared with
// our own. Opened at run time, after the program's own cuInit; one subscriber, and no lock held
// while it is called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/caching_allocator.h"
#include "reporter/record/recorder.h"
#include "reporter/report/cupti_facts.h"

namespace vramscope::cupti {

// Begins to record. Whatever hinders it is one warning of the report, and the program goes on.
// driver_version: 13000 is 13.0. `allocator` is what is compared, and never ends. Call once, on a
// thread of the program's that holds no lock.
void start(Recorder& recorder, CachingAllocator& allocator, std::int32_t driver_version) noexcept;

// Has CUPTI hand over what it has, unless the process is past its exit handlers.
// Threads: any. Takes no lock of ours.
void flush() noexcept;

// What it saw, against `memory`, or what it had seen when the exit handlers ran; nothing when it
// does not record. May throw bad_alloc.
[[nodiscard]] std::optional<CuptiFacts> facts(const Snapshot& memory);

// In a forked child: nothing of it is touched again. Async-signal-safe.
void abandon() noexcept;

}  // namespace vramscope::cupti
