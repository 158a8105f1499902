// Who holds what: totals by tag and by kind of memory, with exact peaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "allocator/call_time.h"
#include "allocator/mapped_array.h"
#include "allocator/place.h"
#include "allocator/snapshot.h"
#include "allocator/timeline.h"

namespace vramscope {

// What each tag held at the peak of its (kind, device), at constant cost: every new peak gets a
// number, and a tag copies what it holds before its first change after that.
// Bytes are requested bytes. Threads: one at a time.
class Ledger {
 public:
  // Room for this tag. False: out of memory.
  [[nodiscard]] bool prepare(Tag tag) noexcept { return tag < details_.size() || grow(tag); }
  // Before the tag's first allocation: the groups that it counts in. Once; without memory it counts
  // in none.
  void join(Tag tag, const Groups& groups) noexcept;

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

  // The program gives up, at call_time_ns, what it got at `born_ns`.
  void count_lifetime(Tag tag, std::uint64_t born_ns) noexcept {
    ++details_[tag].lifetimes[decade_of(call_time_ns - std::min(born_ns, call_time_ns))];
  }

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
  // What a tag is asked for besides its bytes: one cache line.
  struct Details {
    Groups groups{};
    Lifetimes lifetimes{};
  };
  struct GroupTotals {
    std::uint64_t live_bytes = 0;
    std::uint64_t peak_bytes = 0;
  };
  struct Account {
    std::uint64_t current_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t peak = 1;
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    std::uint64_t peak_ns = 0;  // of the last peak, and by which tag
    Tag peak_tag = 0;
    std::unique_ptr<Timeline> timeline;  // null: no memory for it
    void reset_peak() noexcept {
      peak_bytes = current_bytes;
      ++peak;
    }
    Holding unknown;  // tag 0 is the only one that may stand for several accounts
  };

  [[nodiscard]] bool grow(Tag tag) noexcept;
  [[nodiscard]] static std::size_t decade_of(std::uint64_t ns) noexcept;
  // When the call began in which this happens, since the first one; never falls.
  [[nodiscard]] std::uint64_t now() noexcept;
  void note(Account& owner, std::uint64_t before) noexcept {
    if (owner.timeline) owner.timeline->note(now(), before, owner.current_bytes);
  }
  [[nodiscard]] static std::uint32_t account_of(Kind kind, std::uint16_t device);
  [[nodiscard]] Holding& touch(std::uint32_t account, Tag tag);
  [[nodiscard]] TimelineSnapshot describe(const Timeline* timeline) const;
  void add(TagTotals& totals, const Holding& holding) const;

  std::array<Account, kKinds * kMaxDevices> accounts_{};
  MappedArray<Holding> tags_;
  MappedArray<Details> details_;     // as many as tags_ has, or fewer
  MappedArray<GroupTotals> groups_;  // [0] stays empty
  std::size_t tag_count_ = 1;        // highest tag seen + 1
  std::uint64_t start_ns_ = 0;
  std::uint64_t latest_ns_ = 0;
};

}  // namespace vramscope
