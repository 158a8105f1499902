// Totals by tag and kind.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ledger.h"

#include <algorithm>
#include <bit>
#include <new>

namespace vramscope {
// Memory of no device has one account a kind, whatever device its place names.
std::uint32_t Ledger::account_of(Kind kind, std::uint16_t device) {
  return static_cast<std::uint32_t>(kind) * kMaxDevices + (has_device(kind) ? device : 0U);
}

bool Ledger::grow(Tag tag) noexcept {
  const std::size_t wanted = std::size_t{tag} + 1;
  // details_ last: it is what prepare() asks.
  return groups_.grow_to(1) && tags_.grow_to(wanted) && details_.grow_to(wanted);
}

void Ledger::join(Tag tag, const Groups& groups) noexcept {
  const Group highest = *std::max_element(groups.begin(), groups.end());
  if (!prepare(tag) || !groups_.grow_to(std::size_t{highest} + 1)) return;
  details_[tag].groups = groups;
}

std::size_t Ledger::decade_of(std::uint64_t ns) noexcept {
  constexpr std::array<std::uint64_t, kLifetimes> kEnds{
      1'000,       10'000,        100'000,        1'000'000,       10'000'000,
      100'000'000, 1'000'000'000, 10'000'000'000, 100'000'000'000, ~std::uint64_t{0}};
  // 1233 / 4096 is a little more than log10(2): the decade, or the one before it.
  const auto digits = static_cast<std::size_t>(std::bit_width(ns) * 1233 >> 12);
  std::size_t decade = digits < 3 ? 0 : std::min(digits - 3, kLifetimes - 1);
  return decade + (ns >= kEnds[decade] && decade + 1 < kLifetimes ? 1 : 0);
}

inline std::uint64_t Ledger::now() noexcept {
  if (call_time_ns > latest_ns_) {
    if (start_ns_ == 0) start_ns_ = call_time_ns;
    latest_ns_ = call_time_ns;
  }
  return latest_ns_ - start_ns_;
}

// The tag's holding, with what it held at the present peak put aside.
inline Ledger::Holding& Ledger::touch(std::uint32_t account, Tag tag) {
  Account& owner = accounts_[account];
  Holding& holding = tag == 0 ? owner.unknown : tags_[tag];
  if (holding.peak == owner.peak) [[likely]]
    return holding;
  holding.account = account;  // also the first time: no peak has the number 0
  tag_count_ = std::max(tag_count_, std::size_t{tag} + 1);
  holding.peak_bytes = holding.live_bytes;
  holding.peak_count = holding.live_count;
  holding.peak = owner.peak;
  if (!owner.timeline) owner.timeline.reset(new (std::nothrow) Timeline);
  return holding;
}

void Ledger::count_allocation(Place where, Tag tag, std::uint64_t bytes) noexcept {
  const std::uint32_t account = account_of(where.kind, where.device);
  Holding& holding = touch(account, tag);
  holding.live_bytes += bytes;
  holding.total_bytes += bytes;
  ++holding.live_count;
  ++holding.total_count;
  Account& owner = accounts_[account];
  ++owner.allocations;
  owner.current_bytes += bytes;
  for (const Group group : details_[tag].groups) {
    if (group == 0) continue;
    GroupTotals& totals = groups_[group];
    totals.live_bytes += bytes;
    totals.peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
  }
  note(owner, owner.current_bytes - bytes);
  if (owner.current_bytes <= owner.peak_bytes) return;
  owner.peak_bytes = owner.current_bytes;
  owner.peak_ns = call_time_ns;
  owner.peak_tag = tag;
  ++owner.peak;
}

void Ledger::count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept {
  const std::uint32_t account = account_of(where.kind, where.device);
  Holding& holding = touch(account, tag);
  holding.live_bytes -= bytes;
  --holding.live_count;
  Account& owner = accounts_[account];
  owner.current_bytes -= bytes;
  for (const Group group : details_[tag].groups) {
    if (group != 0) groups_[group].live_bytes -= bytes;
  }
  note(owner, owner.current_bytes + bytes);
}

void Ledger::reset_peaks() noexcept {
  for (Account& account : accounts_) account.reset_peak();
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].peak_bytes = groups_[i].live_bytes;
}

// A group belongs to one account, that of its tags.
void Ledger::reset_peak(Kind kind, std::uint16_t device) noexcept {
  const std::uint32_t account = account_of(kind, device);
  accounts_[account].reset_peak();
  for (std::size_t tag = 1; tag < tag_count_; ++tag) {
    if (tags_[tag].account != account) continue;
    for (const Group group : details_[tag].groups) {
      groups_[group].peak_bytes = groups_[group].live_bytes;
    }
  }
}

TimelineSnapshot Ledger::describe(const Timeline* timeline) const {
  if (timeline == nullptr) return {};
  Timeline whole = *timeline;
  const std::size_t used = whole.size();
  if (used != 0) whole.advance(latest_ns_ - start_ns_, whole[used - 1].last);
  TimelineSnapshot snapshot;
  snapshot.bucket_ns = whole.bucket_ns();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    snapshot.highest.push_back(whole[i].highest);
    snapshot.last.push_back(whole[i].last);
  }
  return snapshot;
}

void Ledger::add(TagTotals& totals, const Holding& holding) const {
  const bool changed_since = holding.peak == accounts_[holding.account].peak;
  totals.live_bytes += holding.live_bytes;
  totals.live_count += holding.live_count;
  totals.peak_bytes += changed_since ? holding.peak_bytes : holding.live_bytes;
  totals.peak_count += changed_since ? holding.peak_count : holding.live_count;
  totals.total_bytes += holding.total_bytes;
  totals.total_count += holding.total_count;
}

void Ledger::describe(Snapshot& snapshot) const {
  snapshot.tags.resize(tag_count_);
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const Account& account = accounts_[i];
    if (account.allocations == 0) continue;
    snapshot.kinds.push_back({.kind = static_cast<Kind>(i / kMaxDevices),
                              .device = static_cast<std::uint16_t>(i % kMaxDevices),
                              .current_bytes = account.current_bytes,
                              .peak_bytes = account.peak_bytes,
                              .allocations = account.allocations,
                              .frees = account.frees,
                              .peak_ns = account.peak_ns,
                              .peak_tag = account.peak_tag});
    TimelineSnapshot& timeline = snapshot.timelines.emplace_back(describe(account.timeline.get()));
    timeline.kind = snapshot.kinds.back().kind;
    timeline.device = snapshot.kinds.back().device;
    if (account.unknown.total_count > 0) add(snapshot.tags[0], account.unknown);
  }
  for (std::size_t tag = 1; tag < tag_count_; ++tag) {
    if (tags_[tag].total_count > 0) add(snapshot.tags[tag], tags_[tag]);
  }
  for (std::size_t tag = 0; tag < std::min(tag_count_, details_.size()); ++tag) {
    snapshot.tags[tag].lifetimes = details_[tag].lifetimes;
  }
  snapshot.group_peaks.reserve(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    snapshot.group_peaks.push_back(groups_[i].peak_bytes);
  }
  snapshot.start_ns = start_ns_;
  snapshot.taken_ns = std::max(latest_ns_, call_time_ns);
}

}  // namespace vramscope
