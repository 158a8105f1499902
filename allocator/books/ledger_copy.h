// A copy of the ledger as it was at one instant, made while it changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/kept_records.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/ledger.h"

namespace vramscope {

// The records of tags and groups are copied a piece at a time, everything else at once.
// Threads: one at a time.
struct Ledger::Copy {
  // The number of records of each sort.
  struct Extent {
    std::size_t tags = 0, details = 0, histories = 0, groups = 0, joint_peaks = 0, timelines = 0;
  };
  struct OfAccount {
    std::size_t account = 0;
    Timeline timeline;
  };

  [[nodiscard]] static Extent extent_of(const Ledger& ledger);
  // May throw bad_alloc.
  void make_room(const Extent& extent);
  [[nodiscard]] bool has_room(const Extent& extent) const;
  // Begins the copy at this instant; there is room. Between start_keeping() and stop_keeping() the
  // ledger calls keep for this copy. Without them the ledger must not change.
  void begin(const Ledger& ledger) noexcept;
  void start_keeping(Ledger& ledger) noexcept { ledger.copies_.add(*this); }
  void stop_keeping(Ledger& ledger) const noexcept { ledger.copies_.remove(*this); }
  // As KeptRecords::go_on().
  [[nodiscard]] bool go_on(std::size_t& bytes) noexcept {
    return tags.go_on(bytes) && details.go_on(bytes) && histories.go_on(bytes) &&
           groups.go_on(bytes) && joint_peaks.go_on(bytes);
  }
  // Fills the snapshot from a complete copy, like Ledger::describe(). The snapshot takes over the
  // records of tags.
  void describe(Snapshot& snapshot);

  KeptRecords<Holding> tags;
  KeptRecords<Details> details;
  KeptRecords<History> histories;
  KeptRecords<GroupTotals> groups;
  KeptRecords<DevicePeaks::AtPeak> joint_peaks;
  std::array<AccountTotals, kKinds * kMaxDevices> accounts{};
  std::array<DevicePeaks::OfDevice, kMaxDevices> joint{};  // those that are known
  std::vector<OfAccount> timelines;                        // in the order of the accounts
  const Account* first = nullptr;                          // of the ledger's accounts
  std::size_t tag_count = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t latest_ns = 0;
  std::uint64_t order = 0;
  std::uint64_t taken_ns = 0;
  Copy* next = nullptr;

 private:
  [[nodiscard]] std::size_t index_of(const Holding& holding) const {
    return static_cast<std::size_t>(holding.account - first);
  }
  [[nodiscard]] TimelineSnapshot describe(Timeline timeline) const;
  class Tags;
  [[nodiscard]] TagTotals describe_unknown() const;
  void describe_joint_peaks(Snapshot& snapshot) const;
};

// Adds what a tag held at the peak of its device. peak: the number of the peak of its `kind`; held:
// the saved amount.
void add_joint(TagTotals& totals, const Ledger::Holding& holding, std::uint64_t peak, Kind kind,
               const DevicePeaks::OfDevice& joint, const DevicePeaks::AtPeak& held);

// The functions of the ledger that callers other than Accounts may use. They count nothing.
// Threads: one at a time.
class TagRecords {
 public:
  explicit TagRecords(Ledger& ledger) : ledger_(ledger) {}
  [[nodiscard]] bool prepare(Tag tag) const noexcept { return ledger_.prepare(tag); }
  [[nodiscard]] bool are_prepared(Tag tag) const { return ledger_.is_prepared(tag); }
  void join(Tag tag, const Groups& groups) const noexcept { ledger_.join(tag, groups); }
  void keep(Tag tag) const noexcept { ledger_.keep(tag); }
  void start_keeping(Ledger::Copy& copy) const noexcept { copy.start_keeping(ledger_); }
  void stop_keeping(const Ledger::Copy& copy) const noexcept { copy.stop_keeping(ledger_); }

 private:
  Ledger& ledger_;
};

}  // namespace vramscope
