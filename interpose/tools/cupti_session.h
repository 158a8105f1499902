// The CUPTI session for the option --cupti compares CUPTI's memory records with our own. It is
// opened at run time, after the program's cuInit, has one subscriber, and holds no lock while it
// calls CUPTI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/caching_allocator.h"
#include "reporter/record/recorder.h"
#include "reporter/report/cupti_facts.h"

namespace vramscope::cupti {

// Begins to record. An error is one warning in the report, and the program continues.
// driver_version: 13000 is 13.0. `allocator` is compared, and must never be destroyed. Call it
// once, on a thread of the program that holds no lock.
void start(Recorder& recorder, CachingAllocator& allocator, std::int32_t driver_version) noexcept;

// Makes CUPTI deliver its records, unless the process is past its exit handlers.
// Threads: any. Takes no lock of ours.
void flush() noexcept;

// Returns the records compared with `memory`, or as they were when the exit handlers ran; nothing
// if CUPTI does not record. May throw bad_alloc.
[[nodiscard]] std::optional<CuptiFacts> facts(const Snapshot& memory);

// In a forked child: prevents any further use of the session. Async-signal-safe.
void abandon() noexcept;

}  // namespace vramscope::cupti
