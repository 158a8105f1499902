// The ledger holds totals by tag and by kind of memory, with exact peaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/call_time.h"
#include "allocator/base/history.h"
#include "allocator/base/kept_records.h"
#include "allocator/base/mapped_array.h"
#include "allocator/base/place.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/device_peaks.h"
#include "allocator/books/timeline.h"

namespace vramscope {

struct LedgerRecount;

// The kind and the device of an account, from Ledger::index_of().
[[nodiscard]] constexpr Kind kind_of_account(std::size_t index) {
  return static_cast<Kind>(index / kMaxDevices);
}
[[nodiscard]] constexpr std::uint16_t device_of_account(std::size_t index) {
  return static_cast<std::uint16_t>(index % kMaxDevices);
}

// It knows what each tag held at the peak of its (kind, device), at constant cost: every new peak
// gets a number, and a tag copies what it holds before its first change after that.
// Bytes are requested bytes. Threads: one at a time.
class Ledger {
 public:
  // What a tag holds, and what a (kind, device) holds. Only the ledger uses them; others pass them
  // on.
  using Amount = DevicePeaks::Amount;
  struct Account;
  struct Holding {
    Amount total{};              // ever allocated
    Amount gone{};               // freed; the rest of `total` is live
    Amount at_peak{};            // live at the account's peak numbered `peak`
    std::uint64_t peak = 0;      // the account's peak at the last change
    Account* account = nullptr;  // set with `peak`
  };
  static_assert(sizeof(Holding) == 64);

  struct AccountTotals : PeakLevel {
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    Holding unknown;  // of tag 0, the only one that several accounts share
  };
  struct Account : AccountTotals {
    LivePointer<Timeline> timeline;          // null: no memory for it
    DevicePeaks::OfDevice* joint = nullptr;  // set once its device has several kinds of memory
  };

  // start_ns: the origin of all times; 0: the first call with details.
  explicit Ledger(LiveMemory* live = nullptr, std::uint64_t start_ns = 0)
      : live_(live),
        tags_({live, LivePart::tags}),
        details_({live, LivePart::tag_details}),
        histories_({live, LivePart::tag_histories}),
        groups_({live, LivePart::tag_groups}),
        joint_peaks_(live),
        start_ns_(start_ns) {}

  // Makes room for this tag. Returns false if memory is exhausted.
  [[nodiscard]] bool prepare(Tag tag) noexcept { return is_prepared(tag) || grow(tag); }

  [[nodiscard]] bool is_prepared(Tag tag) const { return tag < prepared_; }

  // Sets the groups that the tag counts in. Call it once, before the tag's first allocation. If
  // memory is exhausted, the tag counts in none.
  void join(Tag tag, const Groups& groups) noexcept;

  // Returns the account of a place: its (kind, device). Kinds without a device have one account
  // each, whatever device the place names.
  [[nodiscard]] Account& account_of(Place where) { return accounts_[index_of(where)]; }

  // Call it after prepare(tag). An allocation that raises the peak is part of it.
  void count_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  // Count the call of a free and its completion: in one step, as the fast free does, or one after
  // the other.
  void count_free(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  void count_call_of_free(Account& account) noexcept;
  void count_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // Undoes the count of an allocation and its free that the program never saw.
  void count_unseen(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // If keeps_details(), these calls must follow an allocation and a completion. They count
  // timeline, history, groups and peaks of devices.
  void detail_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  void detail_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // The same for a place, including details.
  void count_allocation(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_allocation(account_of(where), tag, bytes);
    if (keeps_details_) detail_allocation(account_of(where), tag, bytes);
  }
  void count_free(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_call_of_free(account_of(where));
    count_completion(where, tag, bytes);
  }
  void count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_completion(account_of(where), tag, bytes);
    if (keeps_details_) detail_completion(account_of(where), tag, bytes);
  }

  // Whether any tag has joined groups. If none has, only totals and their peaks are kept.
  [[nodiscard]] bool keeps_details() const { return keeps_details_; }
  // Whether a caller must follow each change: details are kept, or somebody watches a device.
  [[nodiscard]] bool is_followed() const { return is_followed_; }
  void set_watched(bool is_watched) noexcept { is_followed_ = is_watched || keeps_details_; }

  // Counts the lifetime of memory that was allocated at `born_ns` and is freed at call_time_ns.
  void count_lifetime(Tag tag, std::uint64_t born_ns) noexcept {
    ++details_[tag].lifetimes[decade_of(call_time_ns - std::min(born_ns, call_time_ns))];
  }

  void reset_peaks() noexcept;
  void reset_peak(Kind kind, std::uint16_t device) noexcept;
  // Reads without the lock, while others change the numbers. Each number is, or nearly is, one that
  // existed.
  [[nodiscard]] DeviceUse sample(std::uint16_t device) const noexcept;

  // Fills Snapshot::kinds, Snapshot::tags and the like. May throw bad_alloc.
  void describe(Snapshot& snapshot) const;

  // The same in steps: a copy of one instant, made while the ledger changes (ledger_copy.h). Every
  // caller of count_*() and detail_*() calls keep() first, except the fast path, which is disabled
  // while there are copies.
  struct Copy;
  class Moving;  // moving_books.h
  void keep(Tag tag) noexcept {
    if (!copies_.empty()) [[unlikely]]
      keep_in_copies(tag);
  }
  // The same for a process that died inside a call: live amounts are those of the recount, and the
  // others are made to agree. What was counted of the unfinished call stays counted as allocated
  // and freed.
  void mend(Snapshot& snapshot, const LedgerRecount& recount) const;

  // Returns the index of a place's account.
  [[nodiscard]] static std::size_t index_of(Place where) {
    return static_cast<std::size_t>(where.kind) * kMaxDevices +
           (has_device(where.kind) ? where.device : 0U);
  }

 private:
  class Mending;

  // What is kept of a tag besides its bytes: one cache line.
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
  // Returns when the current call began, since the start. Never falls.
  [[nodiscard]] std::uint64_t now() noexcept;
  void note(Account& account, std::uint64_t before) noexcept {
    if (account.timeline) account.timeline->note(now(), before, account.current_bytes());
  }
  [[gnu::noinline]] static void raise(Account& account, Tag tag) noexcept;
  [[nodiscard]] std::uint64_t live_bytes(Tag tag) const {
    return tags_[tag].total[0] - tags_[tag].gone[0];
  }
  // Returns what the tag holds of the account. Tag 0 may hold memory of several accounts.
  [[nodiscard]] Amount live_of(const Account& account, Tag tag) const {
    const Holding& holding = tag == 0 ? account.unknown : tags_[tag];
    return holding.total - holding.gone;
  }
  [[nodiscard]] Holding& touch(Account& account, Tag tag);
  [[gnu::noinline]] void set_peak_aside(Holding& holding, Account& account, Tag tag);
  // Call it before the first allocation of a kind on a device. It begins the peak of the device if
  // the device has another kind of memory.
  void meet_other_kinds(Account& account) noexcept;
  // `live`: what the tag held since its last change, in bytes.
  void note_history(Tag tag, std::uint64_t live) noexcept {
    if (tag != 0 && tag < histories_.size()) histories_[tag].note(order_, live);
  }
  // `peak`: the number of the account's peak.
  static void add(TagTotals& totals, const Holding& holding, std::uint64_t peak);
  [[gnu::noinline]] void keep_in_copies(Tag tag) noexcept;
  void keep_groups() noexcept;

  LiveMemory* live_;
  std::array<Account, kKinds * kMaxDevices> accounts_{};
  MappedArray<Holding> tags_;
  MappedArray<Details> details_;
  MappedArray<History> histories_;  // live bytes by tag, of tags that joined groups
  bool keeps_details_ = false;
  bool is_followed_ = false;
  std::size_t prepared_ = 0;         // tags for which there is room
  MappedArray<GroupTotals> groups_;  // [0] stays empty
  DevicePeaks joint_peaks_;
  std::size_t group_count_ = 1;  // highest group that was joined + 1
  std::size_t tag_count_ = 1;    // highest tag seen + 1
  std::uint64_t start_ns_;
  std::uint64_t latest_ns_ = 0;
  std::uint64_t order_ = 0;  // allocations with details of all tags, the clock of histories
  Copies<Copy> copies_;
};

}  // namespace vramscope
