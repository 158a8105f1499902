// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/ledger_copy.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"

namespace vramscope {

void Ledger::Copy::make_room(const Extent& extent) {
  tags.make_room(extent.tags);
  details.make_room(extent.details);
  histories.make_room(extent.histories);
  groups.make_room(extent.groups);
  joint_peaks.make_room(extent.joint_peaks);
  timelines.reserve(extent.timelines);
}

bool Ledger::Copy::has_room(const Extent& extent) const {
  return extent.tags <= tags.room() && extent.details <= details.room() &&
         extent.histories <= histories.room() && extent.groups <= groups.room() &&
         extent.joint_peaks <= joint_peaks.room() && extent.timelines <= timelines.capacity();
}

Ledger::Copy::Extent Ledger::Copy::extent_of(const Ledger& ledger) {
  const std::size_t tags = ledger.tag_count_;
  Extent all{.tags = std::min(tags, ledger.tags_.size()),
             .details = std::min(tags, ledger.details_.size()),
             .histories = std::min(tags, ledger.histories_.size()),
             .groups = std::min(ledger.group_count_, ledger.groups_.size()),
             .joint_peaks = std::min(tags, ledger.joint_peaks_.tags().size())};
  for (const Account& account : ledger.accounts_) all.timelines += account.allocations != 0;
  return all;
}

void Ledger::Copy::begin(const Ledger& ledger) noexcept {
  const Extent all = extent_of(ledger);
  tags.begin(ledger.tags_, all.tags);
  details.begin(ledger.details_, all.details);
  histories.begin(ledger.histories_, all.histories);
  groups.begin(ledger.groups_, all.groups);
  joint_peaks.begin(ledger.joint_peaks_.tags(), all.joint_peaks);
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    if (ledger.joint_peaks_.of(device).is_known()) joint[device] = ledger.joint_peaks_.of(device);
  }
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    if (ledger.accounts_[i].allocations == 0) continue;
    accounts[i] = ledger.accounts_[i];
    const Timeline* const timeline = ledger.accounts_[i].timeline.get();
    if (timeline != nullptr) timelines.push_back({i, *timeline});
  }
  first = ledger.accounts_.data();
  tag_count = ledger.tag_count_;
  start_ns = ledger.start_ns_;
  latest_ns = ledger.latest_ns_;
  order = ledger.order_;
  taken_ns = std::max(latest_ns, call_time_ns);
}

void Ledger::keep_in_copies(Tag tag) noexcept {
  if (fault(Fault::total_uncopied)) return;
  copies_.each([this, tag](Copy& copy) {
    copy.tags.keep(tag);
    copy.details.keep(tag);
    copy.histories.keep(tag);
    copy.joint_peaks.keep(tag);
    if (tag >= details_.size()) return;
    for (const Group group : details_[tag].groups) copy.groups.keep(group);
  });
}

void Ledger::keep_groups() noexcept {
  copies_.each([this](Copy& copy) {
    for (std::size_t i = 0; i < groups_.size(); ++i) copy.groups.keep(i);
  });
}

TimelineSnapshot Ledger::Copy::describe(Timeline timeline) const {
  const std::size_t used = timeline.size();
  if (used != 0) timeline.advance(latest_ns - start_ns, timeline[used - 1].last);
  TimelineSnapshot snapshot;
  snapshot.bucket_ns = timeline.bucket_ns();
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    snapshot.highest.push_back(timeline[i].highest);
    snapshot.last.push_back(timeline[i].last);
  }
  return snapshot;
}

void Ledger::add(TagTotals& totals, const Holding& holding, std::uint64_t peak) {
  const Amount live = holding.total - holding.gone;
  const Amount at_peak = holding.peak == peak ? holding.at_peak : live;
  totals.live_bytes += live[0];
  totals.live_count += live[1];
  totals.peak_bytes += at_peak[0];
  totals.peak_count += at_peak[1];
  totals.total_bytes += holding.total[0];
  totals.total_count += holding.total[1];
}

void add_joint(TagTotals& totals, const Ledger::Holding& holding, std::uint64_t peak, Kind kind,
               const DevicePeaks::OfDevice& joint, const DevicePeaks::AtPeak& held) {
  if (!joint.is_known() || !takes_device_memory(kind)) return;
  using Amount = DevicePeaks::Amount;
  const Amount live = holding.total - holding.gone;
  const Amount at_own = holding.peak == peak ? holding.at_peak : live;
  const Amount at_joint = joint.at_peak(held, kind, live, at_own);
  totals.joint_bytes += at_joint[0];
  totals.joint_count += at_joint[1];
}

// Totals of tags, each computed when it is read.
class Ledger::Copy::Tags : public RowSource<TagTotals> {
 public:
  explicit Tags(Copy& copy)
      : tags_(std::move(copy.tags)),
        details_(std::move(copy.details)),
        histories_(std::move(copy.histories)),
        joint_peaks_(std::move(copy.joint_peaks)),
        joint_(copy.joint),
        first_(copy.first),
        count_(copy.tag_count),
        order_(copy.order),
        unknown_(copy.describe_unknown()) {
    for (std::size_t i = 0; i < peaks_.size(); ++i) peaks_[i] = copy.accounts[i].peak;
  }

  [[nodiscard]] std::size_t size() const override { return count_; }
  [[nodiscard]] TagTotals at(std::size_t tag) const override {
    TagTotals totals = tag == 0 ? unknown_ : TagTotals{};
    if (tag != 0 && tag < tags_.size() && tags_[tag].account != nullptr) add_held(tag, totals);
    if (tag >= details_.size()) return totals;
    totals.lifetimes = details_[tag].lifetimes;
    if (tag == 0 || tag >= histories_.size()) return totals;
    totals.history = histories_[tag];
    const Amount live = tags_[tag].total - tags_[tag].gone;
    totals.history.note(order_, live[0]);
    return totals;
  }

 private:
  void add_held(std::size_t tag, TagTotals& totals) const {
    const Holding& holding = tags_[tag];
    const auto index = static_cast<std::size_t>(holding.account - first_);
    add(totals, holding, peaks_[index]);
    const bool has_aside = tag < joint_peaks_.size();
    add_joint(totals, holding, peaks_[index], kind_of_account(index),
              joint_[device_of_account(index)],
              has_aside ? joint_peaks_[tag] : DevicePeaks::AtPeak{});
  }

  const KeptRecords<Holding> tags_;
  const KeptRecords<Details> details_;
  const KeptRecords<History> histories_;
  const KeptRecords<DevicePeaks::AtPeak> joint_peaks_;
  const std::array<DevicePeaks::OfDevice, kMaxDevices> joint_;
  std::array<std::uint64_t, kKinds * kMaxDevices> peaks_{};  // numbers of the accounts' peaks
  const Account* const first_;
  const std::size_t count_;
  const std::uint64_t order_;
  const TagTotals unknown_;
};

TagTotals Ledger::Copy::describe_unknown() const {
  TagTotals totals;
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const AccountTotals& account = accounts[i];
    if (account.allocations == 0 || account.unknown.account == nullptr) continue;
    const DevicePeaks::OfDevice& of_device = joint[device_of_account(i)];
    add(totals, account.unknown, account.peak);
    add_joint(totals, account.unknown, account.peak, kind_of_account(i), of_device,
              of_device.unknown[i / kMaxDevices]);
  }
  return totals;
}

void Ledger::Copy::describe_joint_peaks(Snapshot& snapshot) const {
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    const DevicePeaks::OfDevice& all = joint[device];
    if (!all.is_known()) continue;
    snapshot.joint_peaks.push_back({.kind = Kind::device,
                                    .device = device,
                                    .current_bytes = all.current_bytes(),
                                    .peak_bytes = all.peak_bytes,
                                    .peak_ns = all.peak_ns,
                                    .peak_tag = all.peak_tag});
  }
}

void Ledger::Copy::describe(Snapshot& snapshot) {
  auto timeline = timelines.begin();
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const AccountTotals& account = accounts[i];
    if (account.allocations == 0) continue;
    snapshot.kinds.push_back({.kind = kind_of_account(i),
                              .device = device_of_account(i),
                              .current_bytes = account.current_bytes(),
                              .peak_bytes = account.peak_bytes,
                              .allocations = account.allocations,
                              .frees = account.frees,
                              .peak_ns = account.peak_ns,
                              .peak_tag = account.peak_tag});
    const bool has_timeline = timeline != timelines.end() && timeline->account == i;
    TimelineSnapshot& told = snapshot.timelines.emplace_back(
        has_timeline ? describe((timeline++)->timeline) : TimelineSnapshot{});
    told.kind = snapshot.kinds.back().kind;
    told.device = snapshot.kinds.back().device;
  }
  snapshot.tags = Rows<TagTotals>(std::make_shared<const Tags>(*this));
  describe_joint_peaks(snapshot);
  snapshot.group_peaks.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    snapshot.group_peaks.push_back(groups[i].peak_bytes);
  }
  snapshot.start_ns = start_ns;
  snapshot.taken_ns = taken_ns;
}

void Ledger::describe(Snapshot& snapshot) const {
  const auto copy = std::make_unique<Copy>();
  copy->make_room(Copy::extent_of(*this));
  copy->begin(*this);
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  static_cast<void>(copy->go_on(bytes));
  copy->describe(snapshot);
}

}  // namespace vramscope
