// Follows the sums at each change.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/traced_usage.h"

#include <algorithm>
#include <utility>

#include "reporter/base/range_path.h"
#include "reporter/report/gpus.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/replay/trace_report.h"

namespace vramscope {

TracedUsage::TracedUsage(const TraceReader& reader, const ReportOfProcess& one,
                         std::atomic<std::uint64_t>& followed)
    : reader_(reader), followed_(followed) {
  for (const ProcessDevice& device : one.process.devices)
    numbers_[ordinal_of(device)] = device.index;
  for (const KindFacts& kind : one.process.kinds) {
    if (takes_device_memory(kind.kind)) kinds_[{kind.kind, kind.device}].told = kind.peak_bytes;
  }
  if (!one.facts.marks.empty()) set_steps();
  if (!one.facts.ranges.empty() && reader.begin() == nullptr) set_ranges(one);
}

void TracedUsage::set_steps() {
  std::vector<NamedInstant> marks;
  for (const MarkFact& mark : reader_.names().facts.marks)
    marks.push_back({.time_ns = mark.clock_ns, .name = mark.name});
  std::ranges::stable_sort(marks, {}, &NamedInstant::time_ns);
  std::vector<std::string> names = step_names(marks);
  const TraceBegin* const begin = reader_.begin();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    steps_.push_back({.name = std::move(names[i]),
                      .from_ns = marks[i].time_ns,
                      .is_whole = begin == nullptr || marks[i].time_ns > begin->at_ns});
  }
}

void TracedUsage::set_ranges(const ReportOfProcess& one) {
  const TraceNames& names = reader_.names();
  for (const NamedBytes& range : one.facts.ranges) ranges_[range.name];
  std::vector<Held*> by_range;
  for (std::uint32_t i = 0; i < names.facts.ranges.size(); ++i) {
    const auto found = i == 0 ? ranges_.end() : ranges_.find(range_path(names.facts.ranges, i));
    by_range.push_back(found == ranges_.end() ? nullptr : &found->second);
  }
  for (Tag tag = 0; tag < names.facts.tags.size(); ++tag) {
    const std::uint32_t range = range_of_tag(names, tag);
    range_of_tag_.push_back(range < by_range.size() ? by_range[range] : nullptr);
  }
}

void TracedUsage::Held::change(std::uint64_t bytes) {
  live += bytes;
  most = std::max(most, live);
}

void TracedUsage::event(const FollowedEvent&) {
  constexpr std::uint64_t kTellEvery = 1 << 14;
  if (++untold_ < kTellEvery) return;
  followed_ += std::exchange(untold_, 0);
}

const TracedUsage::OfPlace& TracedUsage::of(Place place) {
  const auto is_it = [&](const OfPlace& one) {
    return one.place.kind == place.kind && one.place.device == place.device;
  };
  if (last_place_ < places_.size() && is_it(places_[last_place_])) return places_[last_place_];
  const auto known = std::ranges::find_if(places_, is_it);
  last_place_ = static_cast<std::size_t>(known - places_.begin());
  if (known != places_.end()) return *known;
  std::uint16_t device = place.device;
  renumber(place.kind, device, numbers_);
  const auto kind = kinds_.find({place.kind, device});
  if (kind == kinds_.end()) return places_.emplace_back(OfPlace{.place = place});
  return places_.emplace_back(
      OfPlace{.place = place, .kind = &kind->second, .device = &devices_[device]});
}

// A change at the instant of a mark belongs to its step, and so does what was held just before.
void TracedUsage::begin_steps(std::uint64_t until_ns) {
  for (; begun_ < steps_.size() && steps_[begun_].from_ns <= until_ns; ++begun_)
    steps_[begun_].most = all_.live;
}

void TracedUsage::change(const TraceBlock& block, std::uint64_t bytes, std::uint64_t clock_ns) {
  const OfPlace& place = of(block.place);
  if (place.kind == nullptr || bytes == 0) return;
  begin_steps(clock_ns);
  place.kind->change(bytes);
  place.device->change(bytes);
  if (all_.live + bytes > all_.most) peak_ns_ = clock_ns;
  all_.change(bytes);
  if (begun_ != 0) steps_[begun_ - 1].most = std::max(steps_[begun_ - 1].most, all_.live);
  if (block.tag < range_of_tag_.size() && range_of_tag_[block.tag] != nullptr)
    range_of_tag_[block.tag]->change(bytes);
}

bool TracedUsage::fits_the_report() const {
  const bool is_late = reader_.begin() != nullptr;
  return std::ranges::all_of(kinds_, [&](const auto& kind) {
    const Held& held = kind.second;
    return is_late ? held.most <= held.told : held.most == held.told;
  });
}

void TracedUsage::set_facts(RankFacts& facts) const {
  std::map<std::string, std::uint64_t> steps;
  for (const Step& step : steps_) {
    if (step.is_whole) steps[step.name] = step.most;
  }
  const auto set = [](NamedBytes& named, std::uint64_t bytes) {
    named.bytes = bytes;
    named.from = BytesFrom::trace;
    named.is_exact = true;
  };
  for (NamedBytes& mark : facts.marks) {
    if (const auto found = steps.find(mark.name); found != steps.end()) set(mark, found->second);
  }
  for (NamedBytes& range : facts.ranges) {
    if (const auto found = ranges_.find(range.name); found != ranges_.end())
      set(range, found->second.most);
  }
}

void TracedUsage::tell(ReportOfProcess& one, std::uint64_t begin_ns) {
  followed_ += std::exchange(untold_, 0);
  begin_steps(UINT64_MAX);
  set_facts(one.facts);
  if (reader_.begin() != nullptr) return;
  TracedPeak peak{.bytes = all_.most, .at_ns = peak_ns_ - std::min(begin_ns, peak_ns_)};
  for (const auto& [device, held] : devices_) peak.devices[device] = held.most;
  one.traced_peak = std::move(peak);
}

}  // namespace vramscope
