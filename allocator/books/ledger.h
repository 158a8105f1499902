// The ledger knows who holds what: totals by tag and by kind of memory, with exact peaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/books/device_peaks.h"
#include "allocator/books/timeline.h"
#include "allocator/ground/call_time.h"
#include "allocator/ground/history.h"
#include "allocator/ground/kept_records.h"
#include "allocator/ground/mapped_array.h"
#include "allocator/ground/place.h"
#include "allocator/ground/snapshot.h"

namespace vramscope {

struct LedgerRecount;

// Of an account, by Ledger::index_of().
[[nodiscard]] constexpr Kind kind_of_account(std::size_t index) {
  return static_cast<Kind>(index / kMaxDevices);
}
[[nodiscard]] constexpr std::uint16_t device_of_account(std::size_t index) {
  return static_cast<std::uint16_t>(index % kMaxDevices);
}

// What each tag held at the peak of its (kind, device), at constant cost: every new peak gets a
// number, and a tag copies what it holds before its first change after that.
// Bytes are requested bytes. Threads: one at a time.
class Ledger {
 public:
  // What a tag and a (kind, device) hold: for the ledger itself; others only pass them on.
  using Amount = DevicePeaks::Amount;
  struct Account;
  struct Holding {
    Amount total{};              // ever allocated
    Amount gone{};               // of it: the rest is live
    Amount at_peak{};            // live then, when `peak` is the account's present one
    std::uint64_t peak = 0;      // number of the account's peak at the last change
    Account* account = nullptr;  // set with `peak`
  };
  static_assert(sizeof(Holding) == 64);

  struct AccountTotals : PeakLevel {
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    Holding unknown;  // tag 0 is the only one that may stand for several accounts
  };
  struct Account : AccountTotals {
    LivePointer<Timeline> timeline;          // null: no memory for it
    DevicePeaks::OfDevice* joint = nullptr;  // since its device has had several kinds of memory
  };

  // start_ns: from when all times count; 0: the first call that is followed by details.
  explicit Ledger(LiveMemory* live = nullptr, std::uint64_t start_ns = 0)
      : live_(live),
        tags_({live, LivePart::tags}),
        details_({live, LivePart::tag_details}),
        histories_({live, LivePart::tag_histories}),
        groups_({live, LivePart::tag_groups}),
        joint_peaks_(live),
        start_ns_(start_ns) {}

  // Capacity for this tag. False: out of memory.
  [[nodiscard]] bool prepare(Tag tag) noexcept { return is_prepared(tag) || grow(tag); }

  [[nodiscard]] bool is_prepared(Tag tag) const { return tag < prepared_; }

  // Before the tag's first allocation: the groups that it counts in. Once; without memory it counts
  // in none.
  void join(Tag tag, const Groups& groups) noexcept;

  // The account of a place: its (kind, device). Memory of no device has one account a kind,
  // whatever device its place names.
  [[nodiscard]] Account& account_of(Place where) { return accounts_[index_of(where)]; }

  // After prepare(tag). The raising allocation counts in its own peak.
  void count_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  // The call and its completion at once, the usual free; or one after the other.
  void count_free(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  void count_call_of_free(Account& account) noexcept;
  void count_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // The program never saw what was counted as allocated and then as freed: neither took place.
  void count_unseen(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // When keeps_details(), these follow an allocation and a completion: timeline, history, groups,
  // joint peaks.
  void detail_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  void detail_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // The same for a place, details and all.
  void count_allocation(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_allocation(account_of(where), tag, bytes);
    if (keeps_details_) detail_allocation(account_of(where), tag, bytes);
  }
  void count_free(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_call_of_free(where);
    count_completion(where, tag, bytes);
  }
  void count_call_of_free(Place where) noexcept { count_call_of_free(account_of(where)); }
  void count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_completion(account_of(where), tag, bytes);
    if (keeps_details_) detail_completion(account_of(where), tag, bytes);
  }

  // Has any tag joined groups? Else nobody asks for more than totals and their peaks, and nothing
  // more is kept.
  [[nodiscard]] bool keeps_details() const { return keeps_details_; }

  // The program gives up, at call_time_ns, what it got at `born_ns`.
  void count_lifetime(Tag tag, std::uint64_t born_ns) noexcept {
    ++details_[tag].lifetimes[decade_of(call_time_ns - std::min(born_ns, call_time_ns))];
  }

  void reset_peaks() noexcept;
  void reset_peak(Kind kind, std::uint16_t device) noexcept;
  // Reads without a lock what others change meanwhile: each number is one that there was, or
  // nearly.
  [[nodiscard]] DeviceUse sample(std::uint16_t device) const noexcept;

  // Appends to Snapshot::kinds, Snapshot::tags and the like; may throw bad_alloc.
  void describe(Snapshot& snapshot) const;

  // The same in steps: a copy as of one instant, made while the ledger changes (ledger_copy.h).
  // Whoever changes what a tag has says so before, by keep(): all callers of count_*() and
  // detail_*() but the hot path, which is not taken while there are copies.
  struct Copy;
  void keep(Tag tag) noexcept {
    if (!copies_.empty()) [[unlikely]]
      keep_in_copies(tag);
  }
  // The same as to a process that died amid a call: what is live is as recounted, and the rest is
  // made to agree. What was counted of that call stays counted, as of one that was undone.
  void mend(Snapshot& snapshot, const LedgerRecount& recount) const;

  // Of the account of a place among all.
  [[nodiscard]] static std::size_t index_of(Place where) {
    return static_cast<std::size_t>(where.kind) * kMaxDevices +
           (has_device(where.kind) ? where.device : 0U);
  }

 private:
  class Mending;

  // What a tag is asked for besides its bytes: one cache line.
  struct Details {
    Groups groups{};
    Lifetimes lifetimes{};
  };
  struct GroupTotals {
    std::uint64_t live_bytes = 0;
    std::uint64_t peak_bytes = 0;
  };

  [[nodiscard]] bool grow(Tag tag) noexcept;
  [[nodiscard]] static std::size_t decade_of(std::uint64_t ns) noexcept;
  // When the call began in which this happens, since the start; never falls.
  [[nodiscard]] std::uint64_t now() noexcept;
  void note(Account& account, std::uint64_t before) noexcept {
    if (account.timeline) account.timeline->note(now(), before, account.current_bytes());
  }
  [[gnu::noinline]] static void raise(Account& account, Tag tag) noexcept;
  [[nodiscard]] std::uint64_t live_bytes(Tag tag) const {
    return tags_[tag].total[0] - tags_[tag].gone[0];
  }
  // What the tag has live of the account: tag 0 may have some of several.
  [[nodiscard]] Amount live_of(const Account& account, Tag tag) const {
    const Holding& holding = tag == 0 ? account.unknown : tags_[tag];
    return holding.total - holding.gone;
  }
  [[nodiscard]] Holding& touch(Account& account, Tag tag);
  [[gnu::noinline]] void set_peak_aside(Holding& holding, Account& account, Tag tag);
  // Before the first allocation of a kind on a device: was there another kind of its memory?
  void meet_other_kinds(Account& account) noexcept;
  // `live`: what the tag held since its last change.
  void note_history(Tag tag, std::uint64_t live) noexcept {
    if (tag != 0 && tag < histories_.size()) histories_[tag].note(order_, live);
  }
  // `peak`: number of its account's.
  static void add(TagTotals& totals, const Holding& holding, std::uint64_t peak);
  [[gnu::noinline]] void keep_in_copies(Tag tag) noexcept;
  void keep_groups() noexcept;

  LiveMemory* live_;
  std::array<Account, kKinds * kMaxDevices> accounts_{};
  MappedArray<Holding> tags_;
  MappedArray<Details> details_;
  MappedArray<History> histories_;  // live bytes by tag, of those that joined
  bool keeps_details_ = false;
  std::size_t prepared_ = 0;         // tags that both have room for
  MappedArray<GroupTotals> groups_;  // [0] stays empty
  DevicePeaks joint_peaks_;
  std::size_t group_count_ = 1;  // highest group that was joined + 1
  std::size_t tag_count_ = 1;    // highest tag seen + 1
  std::uint64_t start_ns_;
  std::uint64_t latest_ns_ = 0;
  std::uint64_t order_ = 0;  // allocations with details, of all tags: by them histories count
  Copies<Copy> copies_;
};

}  // namespace vramscope
