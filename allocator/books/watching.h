// Begins and ends watches of devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/books/accounts.h"

namespace vramscope {

// Threads: one at a time.
class Accounts::Watching {
 public:
  explicit Watching(Accounts& accounts) : accounts_(accounts) {}

  // Measures watch.device from now on, until end(). `newest`: the number of the newest allocation.
  void begin(OpenWatch& watch, std::uint64_t newest) const noexcept {
    accounts_.watches_.add(watch, accounts_.ledger_.sample(watch.device).live_bytes, newest);
    accounts_.ledger_.set_watched(true);
  }
  void end(const OpenWatch& watch) const noexcept {
    accounts_.watches_.remove(watch);
    accounts_.ledger_.set_watched(accounts_.watches_.any());
  }

 private:
  Accounts& accounts_;
};

}  // namespace vramscope
