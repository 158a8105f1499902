// Trace writes every recorded event to a file: it has the lanes of all threads and empties them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "allocator/ground/capability.h"
#include "reporter/record/trace/facts.h"
#include "reporter/record/trace/lane.h"

namespace vramscope {

// Threads: any. Nothing here throws. When the file takes no more the trace stops: what would have
// been in it is counted as lost.
class Trace {
 public:
  // Rung when a half of a lane is full, by the thread that filled it.
  struct Bell {
    void (*ring)(void* context) = nullptr;
    void* context = nullptr;
  };
  struct Totals {
    std::uint64_t events = 0;  // in the file
    std::uint64_t lost = 0;    // not in it
  };

  Trace(std::unique_ptr<ChunkSink> sink, Bell bell) noexcept;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Once, before the first event.
  void begin(const TraceProcess& process, const std::vector<std::string>& functions) noexcept;
  // `lane` is the calling thread's own; null: it is made. It lives as long as the trace.
  void add(TraceLane*& lane, const TraceEvent& event) noexcept;
  // In the file when it returns, so no event of a block in it is there without it. Called beside a
  // call of the driver alone: costs a write.
  void add_segment(const SegmentChange& change) noexcept;
  // The report of the end is made: it knows nothing of later events, nor does the trace.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }

  // Threads: those that make reports, one at a time.
  void write_full_halves() noexcept { write_halves(TraceLane::Which::full_ones); }
  // And those that are not full yet, so that little is lost with the process.
  void write_begun_halves() noexcept { write_halves(TraceLane::Which::all); }
  // Everything that was recorded before, unless somebody hinders it for a second.
  void write_events() noexcept;
  // Then what the events may name: Recorder::names(known).
  [[nodiscard]] KnownNames known() noexcept;
  void write_names(const RecorderFacts& names, const KnownNames& known) noexcept;
  // Then that nothing is missing up to here. Gives what the mark says.
  Totals write_mark() noexcept;

 private:
  [[nodiscard]] TraceLane* new_lane() noexcept;
  void write_halves(TraceLane::Which which) noexcept;
  void count(const TraceLane::Written& written) noexcept;
  void write(ChunkType type, std::span<const std::byte> content) noexcept;
  void write(ChunkType type, const TraceFacts::Chunks& chunks) noexcept;

  const std::unique_ptr<ChunkSink> sink_;
  const Bell bell_;
  std::atomic<bool> ended_{false};
  std::atomic<TraceLane*> lanes_{nullptr};  // the last one made
  std::atomic<std::uint32_t> lane_count_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> lost_{0};
  SystemMutex facts_lock_;
  TraceFacts facts_ VRAMSCOPE_GUARDED_BY(facts_lock_);
  std::atomic<std::uint32_t> chunks_{0};  // that belong to no lane
};

}  // namespace vramscope
