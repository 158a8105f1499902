// Reads from an image of a live file what the recorder had named and counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/live_memory.h"
#include "reporter/base/facts.h"
#include "reporter/record/reach.h"

namespace vramscope {

// Returns what Recorder::facts() would have returned when the process ended, with the ranges that
// it watched. header: the header of an image whose parts are mapped at the addresses that it names.
// Throws std::runtime_error with one sentence if the image is damaged or of another version, or
// bad_alloc. Threads: any.
[[nodiscard]] RecorderFacts recover_facts(const LiveHeader& header);

struct RecorderRoot;

// Adds counts and times of functions, devices, the host and each tag in `facts`. May throw
// bad_alloc and, for an image, what recover_facts() throws.
void add_counts(const RecorderRoot& root, const Reach& reach, RecorderFacts& facts);

}  // namespace vramscope
