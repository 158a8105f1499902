// RecorderRoot is where a reader of a live file begins: it leads to everything that the recorder
// wrote.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/base/live_layout.h"
#include "reporter/record/counter_set.h"
#include "reporter/record/live_names.h"
#include "reporter/record/range_table.h"
#include "reporter/record/tag_counts.h"

namespace vramscope {

struct RecorderRoot {
  std::uint64_t layout = 0;  // layout_of_recorder(), set last
  std::uint64_t function_count = 0;
  CounterSets counters;
  TagCounts::Chunks tag_counts{};
  LiveNames::Root names;
  RangeTable::Counts ranges;
  std::atomic<std::uint64_t> unrecorded{0};
  std::atomic<std::uint64_t> dropped{0};
};

// The layout of these structures. Only a build with an equal layout reads them. Never 0.
[[nodiscard]] constexpr std::uint64_t layout_of_recorder() {
  return live_layout({sizeof(RecorderRoot), sizeof(CounterSet), sizeof(FunctionRows),
                      sizeof(FunctionCounters), sizeof(TimingCounters), sizeof(TagCounts::Chunk),
                      kAxes, kKinds, kMaxDevices, kHistogramBuckets});
}

}  // namespace vramscope
