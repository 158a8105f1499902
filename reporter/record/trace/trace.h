// Trace writes every recorded event to a file: it owns the lanes of all threads and empties them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "allocator/base/capability.h"
#include "reporter/record/trace/begin.h"
#include "reporter/record/trace/facts.h"
#include "reporter/record/trace/lane.h"

namespace vramscope {

// Threads: any. Nothing here throws. When the file takes no more the trace stops, and later events
// are counted as lost.
class Trace {
 public:
  // Is rung when a half of a lane is full, by the thread that filled it.
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

  // Must be called once, before the first event.
  void begin(const TraceProcess& process, const std::vector<std::string>& functions) noexcept;
  // Says that the trace begins amid a run: call it with kNeverBegun before the first event, and
  // then with what was live. May throw bad_alloc.
  void begin_amid(const TraceBegin& begin, std::span<const Event> live);
  // Adds an event. `lane` is the calling thread's own lane; if it is null or another trace's, it is
  // made. It lives as long as the trace.
  void add(TraceLane*& lane, const TraceEvent& event) noexcept;
  // Writes a change of a segment. It is in the file when this returns, so the file has it before
  // any event of a block in it. It is only called next to a call of the driver, since it costs a
  // write.
  void add_segment(const SegmentChange& change) noexcept;
  // Writes what of a device is used and not recorded, likewise.
  void add_unrecorded(const UnrecordedChange& change) noexcept;
  // Ends the trace: the last report was made and knows nothing of later events, so neither does the
  // trace.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }

  // Threads: those that make reports, one at a time.
  void write_full_halves() noexcept { write_halves(TraceLane::Which::full_ones); }
  // Also writes the halves that are not full, so that little is lost with the process.
  void write_begun_halves() noexcept { write_halves(TraceLane::Which::all); }
  // Writes everything that was recorded before, unless other threads hinder it for a second.
  void write_events() noexcept;
  // Returns the names that the file has, for Recorder::names(). Call it after write_events().
  [[nodiscard]] KnownNames known() noexcept;
  void write_names(const RecorderFacts& names, const KnownNames& known) noexcept;
  // Writes, after the names, a mark that nothing is missing up to here. Returns the mark's content.
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
  std::atomic<TraceLane*> lanes_{nullptr};  // the lane that was made last
  std::atomic<std::uint32_t> lane_count_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> lost_{0};
  SystemMutex facts_lock_;
  TraceFacts facts_ VRAMSCOPE_GUARDED_BY(facts_lock_);
  std::atomic<std::uint32_t> chunks_{0};  // chunks that belong to no lane
};

}  // namespace vramscope
