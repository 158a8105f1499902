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
  // Room for this tag. False: out of memory.
  [[nodiscard]] bool prepare(Tag tag) noexcept {
    return tag < tags_.size() || tags_.grow_to(std::size_t{tag} + 1);
  }

  // After prepare(tag). The raising allocation counts in its own peak.
  void count_allocation(Place where, Tag tag, std::uint64_t bytes) noexcept;
  // The call and its completion at once, the usual free; or one after the other.
  void count_free(Place where, Tag tag, std::uint64_t bytes) noexcept {
    count_call_of_free(where);
    count_completion(where, tag, bytes);
  }
  void count_call_of_free(Place where) noexcept {
    ++accounts_[account_of(where.kind, where.device)].frees;
  }
  void count_completion(Place where, Tag tag, std::uint64_t bytes) noexcept;

  void reset_peaks() noexcept;
  void reset_peak(Kind kind, std::uint16_t device) noexcept;
  // Appends to Snapshot::kinds and Snapshot::tags; may throw bad_alloc.
  void describe(Snapshot& snapshot) const;

 private:
  struct Holding {
    std::uint64_t live_bytes = 0;
    std::uint64_t live_count = 0;
    std::uint64_t peak_bytes = 0;  // as of `peak`, when that is the account's present one
    std::uint64_t peak_count = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t total_count = 0;
    std::uint64_t peak = 0;     // number of the account's peak at the last change
    std::uint32_t account = 0;  // index into accounts_
  };
  struct Account {
    std::uint64_t current_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t peak = 1;
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    void reset_peak() noexcept {
      peak_bytes = current_bytes;
      ++peak;
    }
    Holding unknown;  // tag 0 is the only one that may stand for several accounts
  };

  [[nodiscard]] static std::uint32_t account_of(Kind kind, std::uint16_t device);
  [[nodiscard]] Holding& touch(std::uint32_t account, Tag tag);
  void add(TagTotals& totals, const Holding& holding) const;

  std::array<Account, kKinds * kMaxDevices> accounts_{};
  MappedArray<Holding> tags_;
  std::size_t tag_count_ = 1;  // highest tag seen + 1
};

}  // namespace vramscope
