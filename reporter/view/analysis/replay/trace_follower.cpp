// Follows a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_follower.h"

#include <algorithm>
#include <utility>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {

std::string ends_before(std::uint64_t length_ns, std::uint64_t instant_ns, std::string_view what) {
  if (instant_ns <= length_ns) return "";
  return "ends after " + duration_text(length_ns) + ", before " + std::string(what) + " " +
         duration_text(instant_ns);
}

TraceFollower::TraceFollower(TraceReader& reader, const Filter& filter, const NameFrame& name,
                             FollowedTimes times)
    : reader_(&reader),
      names_(reader.names()),
      filter_(trace_filter(names_, filter, name)),
      from_ns_(times == FollowedTimes::all ? 0 : filter_.from_ns),
      to_ns_(times == FollowedTimes::all ? UINT64_MAX : filter_.to_ns),
      missing_(missing_from(names_, filter)) {}

TraceFollower::TraceFollower(TraceReader& reader) : reader_(&reader), names_(reader.names()) {}

TraceFollower::TraceFollower(const TraceNames& names, TraceFilter filter)
    : names_(names), filter_(std::move(filter)), from_ns_(filter_.from_ns), to_ns_(filter_.to_ns) {}

const std::vector<SegmentChange>& TraceFollower::segments() const { return reader_->segments(); }

void TraceFollower::begin(const Observers& observers) {
  observers_ = observers;
  memory_ = {};
  number_ = clock_ns_ = 0;
}

bool TraceFollower::follow(const Observers& observers, std::uint64_t most) {
  begin(observers);
  const auto add_up_to = [&](const TraceEvent& one) {
    add(one);
    if (number_ == most) reader_->stop();
  };
  if (!read(TraceReader::Order::by_change, add_up_to)) return false;
  is_known_ = is_known_ || most == UINT64_MAX;
  if (filter_.device) missing_ = no_such_device(*filter_.device, devices_);
  if (missing_.empty()) missing_ = ends_before(length_ns(), from_ns_, "--from");
  return missing_.empty();
}

bool TraceFollower::list(const std::function<void(const FollowedEvent&)>& tell) {
  begin({});
  return read(TraceReader::Order::by_end, [&](const TraceEvent& one) {
    look_at(one.event);
    tell(followed(one, after(*begin_ns_, one.event.start_ns)));
  });
}

bool TraceFollower::read(TraceReader::Order order,
                         const std::function<void(const TraceEvent&)>& visit) {
  if (!missing_.empty()) return false;
  const bool is_good = reader_->read(order, visit);
  if (!is_good) problem_ = reader_->problem();
  return is_good;
}

// What the trace is of, whatever passes.
void TraceFollower::look_at(const Event& event) {
  const std::uint64_t clock_ns = names_.process.clock_ns;
  if (!begin_ns_) begin_ns_ = clock_ns != 0 ? clock_ns : event.start_ns;
  has_moved_begin_ = has_moved_begin_ || event.start_ns < *begin_ns_;
  begin_ns_ = std::min(*begin_ns_, event.start_ns);
  end_ns_ = std::max(end_ns_, event.start_ns + event.total_ns);
  if (!has_device(event.place.kind) || event.effect == Effect::none) return;
  const std::uint16_t device = event.place.device;
  if (device < kMaxDevices && seen_devices_[device]) return;
  if (device < kMaxDevices) seen_devices_.set(device);
  devices_.insert(device);
}

FollowedEvent TraceFollower::followed(const TraceEvent& one, std::uint64_t instant_ns) {
  const Event& event = one.event;
  const bool is_then = instant_ns >= from_ns_ && instant_ns <= to_ns_;
  clock_ns_ = std::max(clock_ns_, event.start_ns);
  return {.one = one,
          .number = ++number_,
          .instant_ns = instant_ns,
          .at_ns = after(*begin_ns_, clock_ns_),
          .clock_ns = clock_ns_,
          .is_then = is_then,
          .passes = is_then && filter_.passes(event.tag, event.place, event.bytes)};
}

void TraceFollower::add(const TraceEvent& one) {
  if (!is_known_) look_at(one.event);
  const std::uint64_t instant_ns = after(*begin_ns_, one.event.start_ns);
  if (observers_.empty() || instant_ns > to_ns_) return;
  const FollowedEvent now = followed(one, instant_ns);
  now_ = &now;
  for (TraceObserver* const observer : observers_) observer->event(now);
  memory_.add(one, *this, now.passes);
}

void TraceFollower::came(const TraceBlock& block, const Event&) {
  for (TraceObserver* const observer : observers_) observer->came(block, *now_);
}

void TraceFollower::went(const TraceBlock& block, TraceMemory::End how) {
  for (TraceObserver* const observer : observers_) observer->went(block, *now_, how);
}

}  // namespace vramscope
