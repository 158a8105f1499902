// Makes the ledger of a process that died inside a call agree with its blocks.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/books/ledger.h"
#include "allocator/books/ledger_copy.h"
#include "allocator/books/moving_books.h"
#include "allocator/books/recount.h"

namespace vramscope {
namespace {

void set_live(TagTotals& totals, const LedgerRecount::Amount& live) {
  totals.live_bytes = live.bytes;
  totals.live_count = live.count;
  totals.total_bytes = std::max(totals.total_bytes, live.bytes);
  totals.total_count = std::max(totals.total_count, live.count);
}

// The number of ended lives is at most the allocated blocks minus the held ones.
void bound_lifetimes(TagTotals& totals, std::uint64_t pending) {
  std::uint64_t most = totals.total_count - totals.live_count + pending;
  for (std::uint32_t& lives : totals.lifetimes) {
    lives = static_cast<std::uint32_t>(std::min<std::uint64_t>(lives, most));
    most -= lives;
  }
}

}  // namespace

// The accounts follow from the tags: an operation changes a tag's total, and what it held at the
// peak, in one store each.
class Ledger::Mending {
 public:
  Mending(const Ledger& ledger, Snapshot& snapshot, const LedgerRecount& recount)
      : ledger_(ledger), tags_(snapshot.tags.own()), snapshot_(snapshot), recount_(recount) {}

  void mend() {
    tags_.resize(std::max(tags_.size(), recount_.tags.size()));
    for (std::size_t tag = 1; tag < tags_.size(); ++tag) mend_tag(tag);
    mend_unknown();
    for (std::size_t i = 0; i < sums_.size(); ++i) mend_kind(i);
    for (KindTotals& joint : snapshot_.joint_peaks) mend_joint(joint);
    mend_groups();
    for (std::size_t i = 0; i < snapshot_.kinds.size(); ++i) mend_timeline(i);
  }

  // Memory of tag 0 is that of the accounts.
  void set_live_of_tags() {
    tags_.resize(std::max(tags_.size(), recount_.tags.size()));
    std::array<std::uint64_t, kKinds * kMaxDevices> sums{};
    for (std::size_t tag = 1; tag < tags_.size(); ++tag) {
      mend_tag(tag);
      if (const std::size_t account = account_of(tag); account < sums.size()) {
        sums[account] += tags_[tag].live_bytes;
      }
    }
    for (KindTotals& kind : snapshot_.kinds) {
      const std::size_t account = index_of({.kind = kind.kind, .device = kind.device});
      const std::uint64_t held = sums[account] + ledger_.live_of(ledger_.accounts_[account], 0)[0];
      kind.current_bytes = std::max(kind.current_bytes, held);
      kind.peak_bytes = std::max(kind.peak_bytes, kind.current_bytes);
    }
  }

 private:
  struct Sums {
    std::uint64_t at_peak = 0;
    std::uint64_t allocations = 0;
    TagTotals unknown;  // what tag 0 has of it
  };

  // Returns an index beyond all accounts for none.
  [[nodiscard]] std::size_t account_of(std::size_t tag) const {
    if (tag >= std::min(ledger_.tag_count_, ledger_.tags_.size())) return sums_.size();
    const Account* const account = ledger_.tags_[tag].account;
    return account == nullptr ? sums_.size()
                              : static_cast<std::size_t>(account - ledger_.accounts_.data());
  }

  void mend_tag(std::size_t tag) {
    const LedgerRecount::OfTag counted =
        tag < recount_.tags.size() ? recount_.tags[tag] : LedgerRecount::OfTag{};
    set_live(tags_[tag], counted.live);
    bound_lifetimes(tags_[tag], counted.pending);
    const std::size_t account = account_of(tag);
    if (account >= sums_.size()) return;
    sums_[account].at_peak += tags_[tag].peak_bytes;
    sums_[account].allocations += tags_[tag].total_count;
  }

  // Tag 0 may hold memory of several accounts, one of which may not have counted its first call
  // yet.
  void mend_unknown() {
    TagTotals all{.lifetimes = tags_[0].lifetimes, .history = tags_[0].history};
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (ledger_.accounts_[i].unknown.account == nullptr) continue;
      TagTotals totals;
      const Account& account = ledger_.accounts_[i];
      const DevicePeaks::OfDevice& joint = ledger_.joint_peaks_.of(device_of_account(i));
      add(totals, account.unknown, account.peak);
      add_joint(totals, account.unknown, account.peak, kind_of_account(i), joint,
                joint.unknown[i / kMaxDevices]);
      set_live(totals, recount_.kinds[i].unknown);
      sums_[i].unknown = totals;
      sums_[i].at_peak += totals.peak_bytes;
      sums_[i].allocations += totals.total_count;
      all.live_bytes += totals.live_bytes;
      all.live_count += totals.live_count;
      all.peak_bytes += totals.peak_bytes;
      all.peak_count += totals.peak_count;
      all.total_bytes += totals.total_bytes;
      all.total_count += totals.total_count;
      all.joint_bytes += totals.joint_bytes;
      all.joint_count += totals.joint_count;
    }
    tags_[0] = all;
    bound_lifetimes(tags_[0], recount_.tags.empty() ? 0 : recount_.tags[0].pending);
  }

  [[nodiscard]] KindTotals& totals_of(std::size_t account) {
    for (KindTotals& kind : snapshot_.kinds) {
      if (index_of({.kind = kind.kind, .device = kind.device}) == account) return kind;
    }
    const Kind kind = kind_of_account(account);
    const std::uint16_t device = device_of_account(account);
    TimelineSnapshot& timeline = snapshot_.timelines.emplace_back();
    timeline.kind = kind;
    timeline.device = device;
    return snapshot_.kinds.emplace_back(KindTotals{.kind = kind, .device = device});
  }

  // Undoes or completes an unfinished raise of the peak, according to what tags held.
  void mend_kind(std::size_t account) {
    const Sums& sums = sums_[account];
    if (sums.allocations == 0 && ledger_.accounts_[account].allocations == 0) return;
    const LedgerRecount::OfKind& counted = recount_.kinds[account];
    KindTotals& kind = totals_of(account);
    kind.current_bytes = counted.live.bytes;
    kind.allocations = sums.allocations;
    kind.frees = sums.allocations - std::min(counted.given, sums.allocations);
    kind.peak_bytes = std::max(sums.at_peak, counted.live.bytes);
    if (sums.at_peak >= counted.live.bytes) return;
    for (std::size_t tag = 1; tag < tags_.size(); ++tag) {
      if (account_of(tag) != account) continue;
      tags_[tag].peak_bytes = tags_[tag].live_bytes;
      tags_[tag].peak_count = tags_[tag].live_count;
    }
  }

  // Visits what tag 0 holds of an account of the device, and the account's own tags.
  template <class F>
  void each_of_device(std::uint16_t device, F visit) {
    for (std::size_t i = device; i < sums_.size(); i += kMaxDevices) {
      if (takes_device_memory(kind_of_account(i))) visit(sums_[i].unknown, i);
    }
    for (std::size_t tag = 1; tag < tags_.size(); ++tag) {
      const std::size_t account = account_of(tag);
      if (account >= sums_.size() || device_of_account(account) != device) continue;
      if (takes_device_memory(kind_of_account(account))) visit(tags_[tag], account);
    }
  }

  // Completes an unfinished raise of the peak of a kind or of the device: at that instant all other
  // memory was as it is now.
  void mend_joint(KindTotals& joint) {
    joint.current_bytes = 0;
    std::uint64_t highest = 0;
    std::size_t highest_account = 0;
    for (const KindTotals& kind : snapshot_.kinds) {
      if (kind.device != joint.device || !takes_device_memory(kind.kind)) continue;
      joint.current_bytes += kind.current_bytes;
      if (kind.peak_bytes < highest) continue;
      highest = kind.peak_bytes;
      highest_account = index_of({.kind = kind.kind, .device = kind.device});
    }
    const auto sum = [&] {
      joint.peak_bytes = 0;
      each_of_device(joint.device,
                     [&](const TagTotals& tag, auto) { joint.peak_bytes += tag.joint_bytes; });
    };
    sum();
    const std::size_t raised = highest > joint.peak_bytes ? highest_account : sums_.size();
    if (raised == sums_.size() && joint.peak_bytes >= joint.current_bytes) return;
    each_of_device(joint.device, [&](TagTotals& tag, std::size_t account) {
      const std::uint64_t bytes = account == raised ? tag.peak_bytes : tag.live_bytes;
      const std::uint64_t count = account == raised ? tag.peak_count : tag.live_count;
      if (&tag == &sums_[account].unknown) {
        tags_[0].joint_bytes += bytes - tag.joint_bytes;
        tags_[0].joint_count += count - tag.joint_count;
      }
      tag.joint_bytes = bytes;
      tag.joint_count = count;
    });
    sum();
  }

  // The peak of a group is at least what its tags hold.
  void mend_groups() {
    struct Held {
      std::uint64_t at_peak = 0;
      std::uint64_t live = 0;
    };
    std::vector<Held> held(snapshot_.group_peaks.size());
    for (std::size_t tag = 1; tag < std::min(tags_.size(), ledger_.details_.size()); ++tag) {
      for (const Group group : ledger_.details_[tag].groups) {
        if (group == 0 || group >= held.size()) continue;
        held[group].at_peak += tags_[tag].peak_bytes;
        held[group].live += tags_[tag].live_bytes;
      }
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::uint64_t least = std::max(held[i].at_peak, held[i].live);
      snapshot_.group_peaks[i] = std::max(snapshot_.group_peaks[i], least);
    }
  }

  void mend_timeline(std::size_t i) {
    TimelineSnapshot& timeline = snapshot_.timelines[i];
    if (timeline.last.empty()) return;
    timeline.last.back() = snapshot_.kinds[i].current_bytes;
    timeline.highest.back() = std::max(timeline.highest.back(), timeline.last.back());
  }

  const Ledger& ledger_;
  std::vector<TagTotals>& tags_;
  Snapshot& snapshot_;
  const LedgerRecount& recount_;
  std::vector<Sums> sums_ = std::vector<Sums>(kKinds * kMaxDevices);
};

void Ledger::mend(Snapshot& snapshot, const LedgerRecount& recount) const {
  Mending(*this, snapshot, recount).mend();
}

void Ledger::Moving::set_live_of_tags(Snapshot& snapshot, const LedgerRecount& live) const {
  Mending(ledger_, snapshot, live).set_live_of_tags();
}

bool Accounts::Moving::agree() const {
  for (std::uint16_t i = 0; i < kMaxDevices; ++i) {
    if (!accounts_.devices_[i]) continue;
    const std::int64_t counted = accounts_.devices_[i]->read().requested_bytes.all.current;
    const Ledger::Moving ledger(accounts_.ledger_);
    if (ledger.live_bytes_of({.kind = Kind::device, .device = i}) != counted) return false;
  }
  return true;
}

}  // namespace vramscope
