// Counts totals by tag and kind.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/ledger.h"

#include "allocator/base/fault.h"
#include "allocator/base/publish.h"

#include <algorithm>
#include <bit>
#include <new>

namespace vramscope {
namespace {

template <class Accounts, class Account>
std::size_t index_in(const Accounts& all, const Account& account) {
  return static_cast<std::size_t>(&account - all.data());
}

}  // namespace

bool Ledger::grow(Tag tag) noexcept {
  const std::size_t wanted = std::size_t{tag} + 1;
  if (!groups_.grow_to(1) || !tags_.grow_to(wanted) || !details_.grow_to(wanted)) return false;
  prepared_ = std::min(tags_.size(), details_.size());
  return true;
}

void Ledger::join(Tag tag, const Groups& groups) noexcept {
  const Group highest = *std::max_element(groups.begin(), groups.end());
  if (!prepare(tag) || !histories_.grow_to(std::size_t{tag} + 1) ||
      !groups_.grow_to(std::size_t{highest} + 1))
    return;
  keep(tag);
  details_[tag].groups = groups;
  group_count_ = std::max(group_count_, std::size_t{highest} + 1);
  keeps_details_ = is_followed_ = true;
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

// Returns the tag's holding after saving what it held at the current peak.
inline Ledger::Holding& Ledger::touch(Account& account, Tag tag) {
  Holding& holding = tag == 0 ? account.unknown : tags_[tag];
  if (holding.peak != account.peak) [[unlikely]]
    set_peak_aside(holding, account, tag);
  return holding;
}

void Ledger::set_peak_aside(Holding& holding, Account& account, Tag tag) {
  tag_count_ = std::max(tag_count_, std::size_t{tag} + 1);
  holding.account = &account;  // also the first time: no peak has the number 0
  holding.at_peak = holding.total - holding.gone;
  publish_all(holding.peak, account.peak);
  if (!account.timeline) account.timeline = make_live<Timeline>(live_);
  if (account.allocations == 0) meet_other_kinds(account);
}

void Ledger::meet_other_kinds(Account& account) noexcept {
  const std::size_t index = index_in(accounts_, account);
  if (!takes_device_memory(kind_of_account(index))) return;
  Account* other = nullptr;
  std::size_t others = 0;
  for (std::size_t i = device_of_account(index); i < accounts_.size(); i += kMaxDevices) {
    const bool is_other = i != index && takes_device_memory(kind_of_account(i));
    if (!is_other || accounts_[i].allocations == 0) continue;
    other = &accounts_[i];
    ++others;
  }
  if (other == nullptr) return;
  DevicePeaks::OfDevice& joint = joint_peaks_.of(device_of_account(index));
  using State = DevicePeaks::OfDevice::State;
  if (joint.state == State::one_kind) {
    if (others > 1 || !keeps_details_) {
      joint.state = State::lost;  // nobody has recorded it
    } else {
      DevicePeaks::begin(joint, kind_of_account(index_in(accounts_, *other)), *other);
    }
  }
  account.joint = other->joint = &joint;
}

void Ledger::count_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  Holding& holding = touch(account, tag);
  publish(holding.total, holding.total + Amount{bytes, 1});
  ++account.allocations;
  account.below -= static_cast<std::int64_t>(bytes);
  if (account.below < 0 && !fault(Fault::peak_missed)) [[unlikely]]
    raise(account, tag);
}

void Ledger::raise(Account& account, Tag tag) noexcept {
  account.set_peak();
  account.peak_ns = call_time_ns;
  account.peak_tag = tag;
}

void Ledger::count_call_of_free(Account& account) noexcept { ++account.frees; }

void Ledger::count_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  Holding& holding = touch(account, tag);
  publish(holding.gone, holding.gone + Amount{bytes, 1});
  account.below += static_cast<std::int64_t>(bytes);
}

void Ledger::count_unseen(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  Holding& holding = touch(account, tag);
  holding.total -= Amount{bytes, 1};
  holding.gone -= Amount{bytes, 1};
  --account.allocations;
  --account.frees;
}

void Ledger::detail_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  for (const Group group : details_[tag].groups) {
    if (group == 0) continue;
    GroupTotals& totals = groups_[group];
    totals.live_bytes += bytes;
    totals.peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
  }
  note(account, account.current_bytes() - bytes);
  note_history(tag, live_bytes(tag) - bytes);
  ++order_;
  if (account.joint == nullptr) return;
  const Amount before = live_of(account, tag) - Amount{bytes, 1};
  joint_peaks_.came(*account.joint, kind_of_account(index_in(accounts_, account)), tag, before,
                    bytes);
}

void Ledger::detail_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  for (const Group group : details_[tag].groups) {
    if (group != 0) groups_[group].live_bytes -= bytes;
  }
  note(account, account.current_bytes() + bytes);
  note_history(tag, live_bytes(tag) + bytes);
  if (account.joint == nullptr) return;
  const Amount before = live_of(account, tag) + Amount{bytes, 1};
  joint_peaks_.went(*account.joint, kind_of_account(index_in(accounts_, account)), tag, before,
                    bytes);
}

void Ledger::count_free(Account& account, Tag tag, std::uint64_t bytes) noexcept {
  count_call_of_free(account);
  count_completion(account, tag, bytes);
}

void Ledger::reset_peaks() noexcept {
  keep_groups();
  for (Account& account : accounts_) account.set_peak();
  joint_peaks_.reset();
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].peak_bytes = groups_[i].live_bytes;
}

// A group belongs to one account, that of its tags.
void Ledger::reset_peak(Kind kind, std::uint16_t device) noexcept {
  Account& account = account_of({.kind = kind, .device = device});
  account.set_peak();
  if (account.joint != nullptr) account.joint->set_peak();
  keep_groups();
  for (std::size_t tag = 1; tag < tag_count_; ++tag) {
    if (tags_[tag].account != &account) continue;
    for (const Group group : details_[tag].groups) {
      groups_[group].peak_bytes = groups_[group].live_bytes;
    }
  }
}

DeviceUse Ledger::sample(std::uint16_t device) const noexcept {
  DeviceUse use;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!takes_device_memory(static_cast<Kind>(kind))) continue;
    const Account& account = accounts_[kind * kMaxDevices + device];
    const std::uint64_t peak = __atomic_load_n(&account.peak_bytes, __ATOMIC_RELAXED);
    const std::int64_t below = __atomic_load_n(&account.below, __ATOMIC_RELAXED);
    use.peak_bytes += peak;
    use.live_bytes +=
        below < 0 ? peak : peak - static_cast<std::uint64_t>(below);  // during a raise of the peak
  }
  return use;
}

}  // namespace vramscope
