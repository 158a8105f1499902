// What a reader needs of the books of a process that runs, beside what recovery needs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/books/accounts.h"
#include "allocator/books/ledger.h"
#include "allocator/books/recount.h"

namespace vramscope {

// Threads: one. The ledger outlives it.
class Ledger::Moving {
 public:
  explicit Moving(const Ledger& ledger) : ledger_(ledger) {}

  // Calls f(address, bytes) for the totals of each kind and device that was ever used.
  template <class F>
  void each_counter(F&& f) const {
    for (const Account& account : ledger_.accounts_) {
      const AccountTotals& totals = account;
      if (totals.allocations != 0) f(&totals, sizeof totals);
    }
    for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
      const PeakLevel& level = ledger_.joint_peaks_.of(device);
      if (ledger_.joint_peaks_.of(device).is_known()) f(&level, sizeof level);
    }
  }
  // Returns the requested bytes of a place's kind and device.
  [[nodiscard]] std::int64_t live_bytes_of(Place where) const {
    return static_cast<std::int64_t>(ledger_.accounts_[index_of(where)].current_bytes());
  }
  // Sets what tags hold in a description of the ledger. What a kind holds stays, unless a thread
  // stood still within a free, so that its tags hold more.
  void set_live_of_tags(Snapshot& snapshot, const LedgerRecount& live) const;

 private:
  const Ledger& ledger_;
};

// The same for all accounts.
class Accounts::Moving {
 public:
  explicit Moving(const Accounts& accounts) : accounts_(accounts) {}

  template <class F>
  void each_counter(F&& f) const {
    for (const auto& device : accounts_.devices_) {
      if (device) f(device.get(), sizeof *device);
    }
    f(&accounts_.host_, sizeof accounts_.host_);
    Ledger::Moving(accounts_.ledger_).each_counter(f);
  }
  // Returns whether the two totals of each device's requested bytes are equal, as they are between
  // two calls.
  [[nodiscard]] bool agree() const;

 private:
  const Accounts& accounts_;
};

}  // namespace vramscope
