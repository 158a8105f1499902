// TraceFollower goes through the events of a trace, and passes each event and its effect on memory
// to observers. Each piece of code that needs something from a trace is an observer; several share
// a pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_filter.h"

namespace vramscope {

// An event of a trace as the follower passes it on.
struct FollowedEvent {
  const TraceEvent& one;
  std::uint64_t number = 0;      // number among the events that are passed on, from 1
  std::uint64_t instant_ns = 0;  // its beginning, after time 0
  std::uint64_t at_ns = 0;  // the same, but never before an earlier event, also if threads overlap
  std::uint64_t clock_ns = 0;  // at_ns by the clock of the events
  bool is_then = true;         // it began in the filter's times
  bool passes = true;          // it passes the filter, including its times

  // The place ended in the filter's times; memory that ends with it may have passed.
  [[nodiscard]] bool ends_place() const { return is_then && one.what == trace::What::place_ended; }
};

// Threads: one. All members may throw bad_alloc.
class TraceObserver {
 public:
  TraceObserver() = default;
  TraceObserver(const TraceObserver&) = delete;
  TraceObserver& operator=(const TraceObserver&) = delete;
  virtual ~TraceObserver() = default;
  // Receives each event, before its effect.
  virtual void event(const FollowedEvent&) {}
  // Receive the effect, block by block. block.passes: whether it passed the filter when it was
  // allocated.
  virtual void came(const TraceBlock&, const FollowedEvent&) {}
  virtual void went(const TraceBlock&, const FollowedEvent&, TraceMemory::End) {}
};

// Whether a filter's times leave something out.
enum class FollowedTimes : bool { of_filter, all };

// Threads: one. All members may throw bad_alloc.
class TraceFollower final : private TraceMemory::Changes {
 public:
  using Observers = std::vector<TraceObserver*>;

  // The arguments outlive this object.
  TraceFollower(TraceReader& reader, const Filter& filter, const NameFrame& name,
                FollowedTimes times = FollowedTimes::of_filter);
  // Lets everything pass.
  explicit TraceFollower(TraceReader& reader);
  // Follows events that are passed to add().
  TraceFollower(const TraceNames& names, TraceFilter filter);

  // Passes all events that are not after the filter's times, or the first `most` events, from the
  // beginning of the trace to the observers, in the order by_change. Returns false on failure;
  // missing() or problem() then says why. Without observers it only determines times and devices.
  [[nodiscard]] bool follow(const Observers& observers, std::uint64_t most = UINT64_MAX);
  // Passes on all events in the order by_end, without their effects.
  [[nodiscard]] bool list(const std::function<void(const FollowedEvent&)>& tell);
  // begin() sets the observers for add(), which passes on one event.
  void begin(const Observers& observers);
  void add(const TraceEvent& one);

  // Returns "", or what the trace lacks of what the filter or another caller asks for: "has no
  // device 1".
  [[nodiscard]] const std::string& missing() const { return missing_; }
  void lack(std::string what) { missing_ = std::move(what); }
  // Returns "" or the trace's problem.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void fail(std::string problem) { problem_ = std::move(problem); }

  [[nodiscard]] const TraceNames& names() const { return names_; }
  [[nodiscard]] const TraceFilter& filter() const { return filter_; }
  // Returns the changes of segments, see TraceReader.
  [[nodiscard]] const std::vector<SegmentChange>& segments() const;

  // Valid after the trace was followed. begin_ns(): time 0 by the clock of the events, when
  // recording began or the first event. length_ns(): from then until the last call ended.
  [[nodiscard]] std::uint64_t begin_ns() const { return begin_ns_.value_or(0); }
  [[nodiscard]] std::uint64_t length_ns() const { return end_ns_ - begin_ns(); }
  // Returns time 0, since 1970.
  [[nodiscard]] std::uint64_t start_ns() const {
    return names_.process.wall_ns + (begin_ns() - names_.process.clock_ns);
  }
  // Returns whether the first pass found a call that began before the previous time 0.
  [[nodiscard]] bool has_moved_begin() const { return has_moved_begin_; }

 private:
  [[nodiscard]] bool read(TraceReader::Order order,
                          const std::function<void(const TraceEvent&)>& visit);
  void look_at(const Event& event);
  [[nodiscard]] FollowedEvent followed(const TraceEvent& one, std::uint64_t instant_ns);
  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;

  TraceReader* const reader_ = nullptr;
  const TraceNames& names_;
  const TraceFilter filter_;
  const std::uint64_t from_ns_ = 0;
  const std::uint64_t to_ns_ = UINT64_MAX;
  std::string missing_;
  std::string problem_;
  std::optional<std::uint64_t> begin_ns_;
  bool is_known_ = false;  // begin, end and devices are known: the trace was followed once
  bool has_moved_begin_ = false;
  std::uint64_t end_ns_ = 0;
  std::set<std::uint16_t> devices_;  // of all events, also of those that do not pass
  std::bitset<kMaxDevices> seen_devices_;

  // State of one pass.
  Observers observers_;
  TraceMemory memory_;
  std::uint64_t number_ = 0;
  std::uint64_t clock_ns_ = 0;
  const FollowedEvent* now_ = nullptr;
};

// Returns "", or that a trace of this length ends before the instant that the option `what` names:
// "ends after 251 ms, before --from 100 s". May throw bad_alloc.
[[nodiscard]] std::string ends_before(std::uint64_t length_ns, std::uint64_t instant_ns,
                                      std::string_view what);

}  // namespace vramscope
