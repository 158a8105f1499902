// Totals by tag and kind.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ledger.h"

#include "allocator/fault.h"

#include <algorithm>

namespace vramscope {

// The tag's holding, with what it held at the present peak put aside.
inline Ledger::Holding& Ledger::touch(Account& account, Tag tag) {
  Holding& holding = tag == 0 ? account.unknown : tags_[tag];
  if (holding.peak != account.peak) [[unlikely]]
    set_peak_aside(holding, account, tag);
  return holding;
}

void Ledger::set_peak_aside(Holding& holding, Account& account, Tag tag) {
  holding.account = &account;  // also the first time: no peak has the number 0
  holding.peak = account.peak;
  holding.at_peak = holding.total - holding.gone;
  tag_count_ = std::max(tag_count_, std::size_t{tag} + 1);
}

void Ledger::count_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  touch(account, tag).total += Amount{bytes, 1};
  ++account.allocations;
  account.below -= static_cast<std::int64_t>(bytes);
  if (account.below < 0 && !fault(Fault::peak_missed)) [[unlikely]]
    account.set_peak();
}

void Ledger::count_call_of_free(Account& account) noexcept { ++account.frees; }

void Ledger::count_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  touch(account, tag).gone += Amount{bytes, 1};
  account.below += static_cast<std::int64_t>(bytes);
}

void Ledger::count_free(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  count_call_of_free(account);
  count_completion(account, tag, bytes);
}

void Ledger::reset_peaks() noexcept {
  for (Account& account : accounts_) account.set_peak();
}

void Ledger::reset_peak(Kind kind, std::uint16_t device) noexcept {
  account_of({.kind = kind, .device = device}).set_peak();
}

void Ledger::add(TagTotals& totals, const Holding& holding) {
  const Amount live = holding.total - holding.gone;
  const Amount at_peak = holding.peak == holding.account->peak ? holding.at_peak : live;
  totals.live_bytes += live[0];
  totals.live_count += live[1];
  totals.peak_bytes += at_peak[0];
  totals.peak_count += at_peak[1];
  totals.total_bytes += holding.total[0];
  totals.total_count += holding.total[1];
}

void Ledger::describe(Snapshot& snapshot) const {
  snapshot.tags.resize(tag_count_);
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const Account& account = accounts_[i];
    if (account.allocations == 0) continue;
    snapshot.kinds.push_back({.kind = static_cast<Kind>(i / kMaxDevices),
                              .device = static_cast<std::uint16_t>(i % kMaxDevices),
                              .current_bytes = account.current_bytes(),
                              .peak_bytes = account.peak_bytes,
                              .allocations = account.allocations,
                              .frees = account.frees});
    if (account.unknown.total[1] > 0) add(snapshot.tags[0], account.unknown);
  }
  for (std::size_t tag = 1; tag < tag_count_; ++tag) {
    if (tags_[tag].total[1] > 0) add(snapshot.tags[tag], tags_[tag]);
  }
}

}  // namespace vramscope
