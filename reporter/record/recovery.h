// What the recorder had told and counted is read from an image of a live file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/ground/live_memory.h"
#include "reporter/ground/facts.h"
#include "reporter/record/reach.h"

namespace vramscope {

// What Recorder::facts() would have given when the process ended, and the ranges that it watched.
// `header`: of an image whose parts are mapped where it says. Throws std::runtime_error, of one
// sentence, when the image is damaged or of another version; bad_alloc. Threads: any.
[[nodiscard]] RecorderFacts recover_facts(const LiveHeader& header);

struct RecorderRoot;

// Counts and times of functions, devices, the host and of each tag that `facts` has. May throw
// bad_alloc, and of an image what recover_facts() throws.
void add_counts(const RecorderRoot& root, const Reach& reach, RecorderFacts& facts);

}  // namespace vramscope
