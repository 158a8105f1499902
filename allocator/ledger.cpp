// Totals by tag and kind.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ledger.h"

#include <algorithm>

namespace vramscope {
// Memory of no device has one account a kind, whatever device its place names.
std::uint32_t Ledger::account_of(Kind kind, std::uint16_t device) {
  return static_cast<std::uint32_t>(kind) * kMaxDevices + (has_device(kind) ? device : 0U);
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
  if (owner.current_bytes <= owner.peak_bytes) return;
  owner.peak_bytes = owner.current_bytes;
  ++owner.peak;
}

void Ledger::count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept {
  const std::uint32_t account = account_of(where.kind, where.device);
  Holding& holding = touch(account, tag);
  holding.live_bytes -= bytes;
  --holding.live_count;
  Account& owner = accounts_[account];
  owner.current_bytes -= bytes;
}

void Ledger::reset_peaks() noexcept {
  for (Account& account : accounts_) account.reset_peak();
}

void Ledger::reset_peak(Kind kind, std::uint16_t device) noexcept {
  accounts_[account_of(kind, device)].reset_peak();
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
                              .frees = account.frees});
    if (account.unknown.total_count > 0) add(snapshot.tags[0], account.unknown);
  }
  for (std::size_t tag = 1; tag < tag_count_; ++tag) {
    if (tags_[tag].total_count > 0) add(snapshot.tags[tag], tags_[tag]);
  }
}

}  // namespace vramscope
