// follow_several() follows the traces of several processes, one on each core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// Follows the trace with this number, on any thread, and adds up events that it has followed.
using FollowOne = std::function<void(std::size_t which, std::atomic<std::uint64_t>& followed)>;

// Calls follow for each number below `count`. events: that all of them have; the last call of tell
// says that all were followed. May throw what `follow` throws, and system_error, after all threads
// have ended.
void follow_several(std::size_t count, const FollowOne& follow, std::uint64_t events = 0,
                    const TellShare& tell = {});

}  // namespace vramscope
