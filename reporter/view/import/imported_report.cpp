// Counts an imported run as the allocator and the recorder count one of their own.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "reporter/report/assemble.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/sites_text.h"

namespace vramscope {
namespace {

using KindPlace = std::pair<Kind, std::uint16_t>;

// The curve of one kind of memory on one device.
class Curve {
 public:
  explicit Curve(std::uint64_t bucket_ns) : bucket_ns_(bucket_ns) {}

  void note(std::uint64_t after_ns, std::uint64_t bytes) {
    advance(after_ns / bucket_ns_);
    now_ = bytes;
    highest_.back() = std::max(highest_.back(), bytes);
    last_.back() = bytes;
  }
  [[nodiscard]] TimelineSnapshot finish(KindPlace where, std::uint64_t duration_ns) {
    advance(duration_ns / bucket_ns_);
    return {.kind = where.first,
            .device = where.second,
            .bucket_ns = bucket_ns_,
            .highest = std::move(highest_),
            .last = std::move(last_)};
  }

 private:
  void advance(std::uint64_t bucket) {
    while (highest_.size() <= bucket) {
      highest_.push_back(now_);
      last_.push_back(now_);
    }
  }
  std::uint64_t bucket_ns_;
  std::uint64_t now_ = 0;
  std::vector<std::uint64_t> highest_, last_;
};

class Counts {
 public:
  explicit Counts(ImportedRun& run) : run_(run) {
    const auto& events = run.events;
    first_ns_ = events.empty() ? 0 : events.front().time_ns;
    last_ns_ = events.empty() ? 0 : std::max(first_ns_, events.back().time_ns);
    constexpr std::uint64_t kBuckets = 256;
    bucket_ns_ = (last_ns_ - first_ns_) / kBuckets + 1;
    tags_.resize(run.names.tags.size());
  }

  void add(const ImportedEvent& event) {
    if (event.what == ImportedEvent::What::refused) return add_refusal(event);
    note_temporary(event);
    KindCount& kind = kind_of(event.place);
    TagTotals& tag = touch(event.tag, kind);
    const bool came = event.what == ImportedEvent::What::came;
    if (came) {
      ++kind.totals.allocations;
      ++tag.total_count;
      tag.total_bytes += event.bytes;
      born_[event.address] = event.time_ns;
    } else {
      ++kind.totals.frees;
      ++tag.lifetimes[lifetime_decade(event.time_ns -
                                      std::min(born_[event.address], event.time_ns))];
      born_.erase(event.address);
    }
    const auto change = [&](std::uint64_t& sum, std::uint64_t by) { came ? sum += by : sum -= by; };
    change(tag.live_bytes, event.bytes);
    change(tag.live_count, 1);
    change(kind.totals.current_bytes, event.bytes);
    change(kind.live_count, 1);
    kind.most_live = std::max(kind.most_live, kind.live_count);
    for (const Group group : run_.names.tags.own()[event.tag].groups) {
      groups_.resize(std::max<std::size_t>(groups_.size(), group + 1));
      change(groups_[group].live, event.bytes);
      groups_[group].peak = std::max(groups_[group].peak, groups_[group].live);
    }
    note_peak(event, kind);
    kind.curve.note(event.time_ns - first_ns_, kind.totals.current_bytes);
  }

  ReportParts parts() {
    ReportParts parts;
    for (std::size_t tag = 1; tag < tags_.size(); ++tag) {
      const Place place = run_.names.tags[tag].place;
      static_cast<void>(touch(static_cast<Tag>(tag), kind_of(place)));
    }
    Snapshot& memory = parts.memory;
    memory.start_ns = first_ns_;
    memory.taken_ns = last_ns_;
    for (auto& [where, kind] : kinds_) {
      memory.timelines.push_back(kind.curve.finish(where, last_ns_ - first_ns_));
      memory.kinds.push_back(kind.totals);
      if (!has_device(where.first)) continue;
      parts.devices.emplace_back().index = where.second;
      memory.devices.push_back({where.second, statistics(where, kind)});
    }
    for (const TagCount& tag : tags_) memory.tags.own().push_back(tag.totals);
    for (const GroupCount& group : groups_) memory.group_peaks.push_back(group.peak);
    for (BlockSnapshot& block : run_.blocks) {
      const auto born = born_.find(block.address);
      if (block.state == BlockState::active_allocated && born != born_.end()) {
        block.born_ns = born->second;
      }
    }
    memory.segments = std::move(run_.segments);
    memory.blocks = std::move(run_.blocks);
    parts.trigger = word_of(Trigger::imported);
    parts.process.executable = run_.path;
    parts.process.mode = run_.source;
    if (run_.has_dates) parts.process.report_time_ns = last_ns_;
    parts.function_names = {"alloc", "free"};
    parts.recorder = std::move(run_.names);
    parts.oom = std::move(oom_);
    return parts;
  }

 private:
  struct KindCount {
    KindTotals totals;
    Curve curve;
    std::uint64_t peak_number = 1;
    std::uint64_t live_count = 0;
    std::uint64_t most_live = 0;
  };
  struct TagCount {
    TagTotals totals;
    std::uint64_t peak_number = 0;  // of the peak that totals.peak_bytes belongs to
  };
  struct GroupCount {
    std::uint64_t live = 0;
    std::uint64_t peak = 0;
  };

  struct LastCall {
    Address address = 0;  // that the thread allocated last
    Tag tag = 0;
    bool is_freed = false;
  };

  // What is freed before the next allocation of its thread, as far as the file tells threads.
  void note_temporary(const ImportedEvent& event) {
    const AxisValues& values = run_.names.tags.own()[event.tag].values;
    LastCall& last = last_[values[static_cast<std::size_t>(Axis::thread)]];
    if (event.what == ImportedEvent::What::came) {
      if (last.is_freed) ++run_.names.tags.own()[last.tag].temporary;
      last = {.address = event.address, .tag = event.tag};
    } else if (event.address == last.address) {
      last.is_freed = true;
    }
  }

  KindCount& kind_of(Place place) {
    const KindTotals none{.kind = place.kind, .device = place.device};
    return kinds_.try_emplace({place.kind, place.device}, KindCount{none, Curve(bucket_ns_)})
        .first->second;
  }

  // Before what the tag holds changes.
  TagTotals& touch(Tag number, const KindCount& kind) {
    TagCount& tag = tags_[number];
    if (tag.peak_number != kind.peak_number) {
      tag.totals.peak_bytes = tag.totals.live_bytes;
      tag.totals.peak_count = tag.totals.live_count;
      tag.peak_number = kind.peak_number;
    }
    return tag.totals;
  }

  void note_peak(const ImportedEvent& event, KindCount& kind) const {
    if (kind.totals.current_bytes <= kind.totals.peak_bytes) return;
    kind.totals.peak_bytes = kind.totals.current_bytes;
    kind.totals.peak_ns = event.time_ns;
    kind.totals.peak_tag = event.tag;
    ++kind.peak_number;
  }

  void add_refusal(const ImportedEvent& event) {
    TagFact& fact = run_.names.tags.own()[event.tag];
    ++fact.refused_count;
    fact.refused_bytes = capped_sum(fact.refused_bytes, event.bytes);
    ++refusals_[{event.place.kind, event.place.device}];
    constexpr std::size_t kKept = 16;  // the first ones, and the last
    if (oom_.events.size() > kKept) oom_.events.pop_back();
    oom_.events.push_back({.number = ++oom_.count,
                           .time_ns = event.time_ns - first_ns_,
                           .function = "alloc",
                           .kind = event.place.kind,
                           .device = event.place.device,
                           .bytes = event.bytes,
                           .tag = event.tag,
                           .free_bytes = event.free_bytes});
  }

  static DeviceStatistics nothing_known() {
    DeviceStatistics all;
    each_counter(all, [](const std::string&, std::int64_t& value) { value = kNotKnown; });
    return all;
  }
  static std::array<PooledStat*, 4> of_segments(DeviceStatistics& all) {
    return {&all.segment, &all.reserved_bytes, &all.allocated_bytes, &all.active_bytes};
  }

  // Segments are of the instant at which the file was made; their history is counted back from it.
  [[nodiscard]] DeviceStatistics statistics(KindPlace where, const KindCount& kind) const {
    DeviceStatistics all = nothing_known();
    const auto add = [](PooledStat& stat, bool is_small, std::uint64_t amount) {
      stat.all.current += static_cast<std::int64_t>(amount);
      (is_small ? stat.small_pool : stat.large_pool).current += static_cast<std::int64_t>(amount);
    };
    if (run_.has_segments) {
      for (PooledStat* stat : of_segments(all)) {
        stat->all.current = stat->small_pool.current = stat->large_pool.current = 0;
      }
    }
    for (const SegmentSnapshot& segment : run_.segments) {
      if (segment.place.kind != where.first || segment.place.device != where.second) continue;
      add(all.segment, segment.is_small, 1);
      add(all.reserved_bytes, segment.is_small, segment.total_size);
      add(all.allocated_bytes, segment.is_small, segment.allocated_size);
      add(all.active_bytes, segment.is_small, segment.active_size);
    }
    // Without a history all that was ever there is what is there.
    if (run_.has_segments && !run_.has_history) {
      for (PooledStat* stat : of_segments(all)) {
        for (Stat* one : {&stat->all, &stat->small_pool, &stat->large_pool}) {
          one->peak = one->current;
        }
      }
    }
    all.reserved_bytes.all.peak = all.reserved_bytes.all.current;
    add_reservations(where.second, all);
    const auto set = [](Stat& stat, std::uint64_t current, std::uint64_t peak) {
      stat.current = static_cast<std::int64_t>(current);
      stat.peak = static_cast<std::int64_t>(std::max(current, peak));
    };
    const KindTotals& totals = kind.totals;
    set(all.requested_bytes.all, totals.current_bytes, totals.peak_bytes);
    set(all.allocation.all, kind.live_count, kind.most_live);
    all.allocation.all.allocated = static_cast<std::int64_t>(totals.allocations);
    all.allocation.all.freed = static_cast<std::int64_t>(totals.frees);
    // The history has what was asked for: how it was rounded is in no file, and what was reserved
    // was that much at least.
    Stat& reserved = all.reserved_bytes.all;
    if (!run_.has_segments) reserved.current = all.requested_bytes.all.current;
    reserved.peak = std::max(reserved.peak, all.requested_bytes.all.peak);
    const auto refusals = refusals_.find(where);
    all.num_ooms = refusals == refusals_.end() ? 0 : refusals->second;
    return all;
  }

  void add_reservations(std::uint16_t device, DeviceStatistics& all) const {
    if (run_.reservations.empty()) return;
    Stat& reserved = all.reserved_bytes.all;
    reserved.allocated = reserved.freed = all.num_device_alloc = all.num_device_free = 0;
    std::int64_t bytes = reserved.current;
    for (const ImportedReservation& one : run_.reservations) {
      if (one.device == device) bytes -= one.bytes;
    }
    for (const ImportedReservation& one : run_.reservations) {
      if (one.device != device) continue;
      bytes += one.bytes;
      reserved.peak = std::max(reserved.peak, bytes);
      (one.bytes > 0 ? reserved.allocated : reserved.freed) += std::abs(one.bytes);
      ++(one.bytes > 0 ? all.num_device_alloc : all.num_device_free);
    }
  }

  ImportedRun& run_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t bucket_ns_ = 1;
  std::map<KindPlace, KindCount> kinds_;
  std::vector<TagCount> tags_;
  std::vector<GroupCount> groups_;
  std::unordered_map<Address, std::uint64_t> born_;
  std::map<std::uint32_t, LastCall> last_;  // by thread
  OomReport oom_;
  std::map<KindPlace, std::int64_t> refusals_;
};

}  // namespace

Report report_of_import(ImportedRun run) {
  Counts counts(run);
  for (const ImportedEvent& event : run.events) counts.add(event);
  const std::string owner = run.names.owners.front();
  Report report = assemble(counts.parts());
  for (LedgerEntry& entry : report.ledger) {
    if (row_of(entry) == LedgerRow::cached) entry.owner = owner;  // it is not our cache
  }
  return report;
}

}  // namespace vramscope
