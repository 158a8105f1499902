// Who holds what: totals by tag and by kind of memory, with exact peaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/mapped_array.h"
#include "allocator/place.h"
#include "allocator/snapshot.h"

namespace vramscope {

// What each tag held at the peak of its (kind, device), at constant cost: every new peak gets a
// number, and a tag copies what it holds before its first change after that.
// Bytes are requested bytes. Threads: one at a time.
class Ledger {
 public:
  // What a tag and a (kind, device) hold: for the ledger itself; others only pass them on.
  // Bytes and their number, in one register.
  using Amount = std::uint64_t __attribute__((vector_size(16)));
  struct Account;
  struct Holding {
    Amount total{};              // ever allocated
    Amount gone{};               // of it: the rest is live
    Amount at_peak{};            // live then, when `peak` is the account's present one
    std::uint64_t peak = 0;      // number of the account's peak at the last change
    Account* account = nullptr;  // set with `peak`
  };
  static_assert(sizeof(Holding) == 64);

  struct Account {
    std::uint64_t peak_bytes = 0;
    std::int64_t below = 0;  // peak - current; negative only inside count_allocation()
    std::uint64_t peak = 1;
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    Holding unknown;  // tag 0 is the only one that may stand for several accounts

    [[nodiscard]] std::uint64_t current_bytes() const {
      return peak_bytes - static_cast<std::uint64_t>(below);
    }
    // The peak is what is there now.
    void set_peak() noexcept {
      peak_bytes = current_bytes();
      below = 0;
      ++peak;
    }
  };

  // Room for this tag. False: out of memory.
  [[nodiscard]] bool prepare(Tag tag) noexcept {
    return tag < tags_.size() || tags_.grow_to(std::size_t{tag} + 1);
  }

  [[nodiscard]] bool is_prepared(Tag tag) const { return tag < tags_.size(); }

  // The account of a place: its (kind, device). Memory of no device has one account a kind,
  // whatever device its place names.
  [[nodiscard]] Account& account_of(Place where) {
    return accounts_[static_cast<std::size_t>(where.kind) * kMaxDevices +
                     (has_device(where.kind) ? where.device : 0U)];
  }

  // After prepare(tag). The raising allocation counts in its own peak.
  void count_allocation(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  // The call and its completion at once, the usual free; or one after the other.
  void count_free(Account& account, Tag tag, std::uint64_t bytes) noexcept;
  void count_call_of_free(Account& account) noexcept;
  void count_completion(Account& account, Tag tag, std::uint64_t bytes) noexcept;

  // The same for a place.
  void count_allocation(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_allocation(account_of(where), tag, bytes);
  }
  void count_free(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_free(account_of(where), tag, bytes);
  }
  void count_call_of_free(Place where) noexcept { count_call_of_free(account_of(where)); }
  void count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_completion(account_of(where), tag, bytes);
  }

  void reset_peaks() noexcept;
  void reset_peak(Kind kind, std::uint16_t device) noexcept;
  // Appends to Snapshot::kinds and Snapshot::tags; may throw bad_alloc.
  void describe(Snapshot& snapshot) const;

 private:
  [[nodiscard]] Holding& touch(Account& account, Tag tag);
  [[gnu::noinline]] void set_peak_aside(Holding& holding, Account& account, Tag tag);
  static void add(TagTotals& totals, const Holding& holding);

  std::array<Account, kKinds * kMaxDevices> accounts_{};
  MappedArray<Holding> tags_;
  std::size_t tag_count_ = 1;  // highest tag seen + 1
};

}  // namespace vramscope
