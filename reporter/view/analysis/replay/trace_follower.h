// TraceFollower goes through the events of a trace, and tells observers of each and of what it does
// to memory. Whoever wants to know something of a trace is an observer; several share a pass.
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

// An event of a trace as its follower hands it on.
struct FollowedEvent {
  const TraceEvent& one;
  std::uint64_t number = 0;      // among those that are told, from 1 on
  std::uint64_t instant_ns = 0;  // when it began, after time 0
  std::uint64_t at_ns = 0;       // the same; never goes back, also where threads overlapped
  std::uint64_t clock_ns = 0;    // at_ns by the clock of the events
  bool is_then = true;           // it began in the filter's times
  bool passes = true;            // the filter, its times too

  // In the filter's times; what ends with a place may have passed.
  [[nodiscard]] bool ends_place() const { return is_then && one.what == trace::What::place_ended; }
};

// Threads: one. All members may throw bad_alloc.
class TraceObserver {
 public:
  TraceObserver() = default;
  TraceObserver(const TraceObserver&) = delete;
  TraceObserver& operator=(const TraceObserver&) = delete;
  virtual ~TraceObserver() = default;
  // Each event, before what it does.
  virtual void event(const FollowedEvent&) {}
  // What it does, block by block; block.passes: the filter, when it came.
  virtual void came(const TraceBlock&, const FollowedEvent&) {}
  virtual void went(const TraceBlock&, const FollowedEvent&, TraceMemory::End) {}
};

// Whether a filter's times leave something out.
enum class FollowedTimes : bool { of_filter, all };

// Threads: one. All members may throw bad_alloc.
class TraceFollower final : private TraceMemory::Changes {
 public:
  using Observers = std::vector<TraceObserver*>;

  // All of it outlives this.
  TraceFollower(TraceReader& reader, const Filter& filter, const NameFrame& name,
                FollowedTimes times = FollowedTimes::of_filter);
  // Everything passes.
  explicit TraceFollower(TraceReader& reader);
  // Of events that are add()ed.
  TraceFollower(const TraceNames& names, TraceFilter filter);

  // Tells the observers, in their order, of the trace from its beginning on: of all events that do
  // not come after the filter's times, or of the first `most`. In the order by_change. False:
  // missing() or problem() says why. Without observers it looks at the times and devices alone.
  [[nodiscard]] bool follow(const Observers& observers, std::uint64_t most = UINT64_MAX);
  // Of all events in the order by_end, and of nothing that they do.
  [[nodiscard]] bool list(const std::function<void(const FollowedEvent&)>& tell);
  // One event to those that begin() was given.
  void begin(const Observers& observers);
  void add(const TraceEvent& one);

  // "", or what the trace lacks of what the filter or somebody else asks for: "has no device 1".
  [[nodiscard]] const std::string& missing() const { return missing_; }
  void lack(std::string what) { missing_ = std::move(what); }
  // "", or what is wrong with it.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void fail(std::string problem) { problem_ = std::move(problem); }

  [[nodiscard]] const TraceNames& names() const { return names_; }
  [[nodiscard]] const TraceFilter& filter() const { return filter_; }
  // How segments came and went, see TraceReader.
  [[nodiscard]] const std::vector<SegmentChange>& segments() const;

  // Once all was followed. Time 0 by the clock of the events: when recording began, or the first
  // of them; and from then until the last of their calls ended.
  [[nodiscard]] std::uint64_t begin_ns() const { return begin_ns_.value_or(0); }
  [[nodiscard]] std::uint64_t length_ns() const { return end_ns_ - begin_ns(); }
  // Time 0, since 1970.
  [[nodiscard]] std::uint64_t start_ns() const {
    return names_.process.wall_ns + (begin_ns() - names_.process.clock_ns);
  }
  // Whether the first pass saw a call begin before what was time 0 until then.
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
  bool is_known_ = false;  // that, its end and devices: the trace was followed once
  bool has_moved_begin_ = false;
  std::uint64_t end_ns_ = 0;
  std::set<std::uint16_t> devices_;  // that any event is about, also if it does not pass
  std::bitset<kMaxDevices> seen_devices_;

  // Of a pass.
  Observers observers_;
  TraceMemory memory_;
  std::uint64_t number_ = 0;
  std::uint64_t clock_ns_ = 0;
  const FollowedEvent* now_ = nullptr;
};

// "", or that a trace of this length ends before the instant that the option `what` names: "ends
// after 251 ms, before --from 100 s". May throw bad_alloc.
[[nodiscard]] std::string ends_before(std::uint64_t length_ns, std::uint64_t instant_ns,
                                      std::string_view what);

}  // namespace vramscope
