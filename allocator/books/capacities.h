// Capacities hold the limit and the sum of all memory on a device: our segments, the program's own
// memory, and memory that either has requested.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "allocator/base/driver_pages.h"
#include "allocator/base/limits.h"
#include "allocator/base/place.h"
#include "allocator/base/snapshot.h"

namespace vramscope {

// The bytes that count against a device's capacity.
struct CapacityUse {
  std::uint64_t limit = Limits::kUnlimited;  // the capacity
  std::uint64_t reserved = 0;                // bytes of our own segments
  std::uint64_t awaited = 0;                 // requested from the backend, not answered yet
  std::uint64_t direct = 0;    // bytes that the program got from the driver, of every kind
  std::uint64_t managed = 0;   // of `direct`, memory that gives way to other memory
  std::uint64_t promised = 0;  // bytes that the program is about to get
  std::uint64_t kept = 0;      // taken by the driver for this process's contexts and code
  std::uint64_t refusals = 0;  // requests that did not fit
  bool is_hosts = false;       // the device's memory is the host's
  PageRounding rounding;       // of segments and direct memory, present or requested
};

// Threads: one at a time.
class Capacities {
 public:
  // kept_by_driver: bytes of the capacity that the driver keeps for this process's contexts and
  // code.
  void set(std::uint16_t device, std::uint64_t bytes, std::uint64_t kept_by_driver);
  // The device's memory is the host's from now on: managed memory gives way to nothing there, and
  // pinned memory, which names no device, counts on device 0.
  void share_with_host(std::uint16_t device) { uses_[device].is_hosts = true; }
  // Counts, or no longer counts, bytes that the program is about to get.
  void promise(Place where, std::uint64_t bytes);
  void end_promise(Place where, std::uint64_t bytes);
  // Counts, or no longer counts, bytes that were requested from the backend and not answered yet.
  void ask(Place where, std::uint64_t bytes);
  void end_asking(Place where, std::uint64_t bytes);
  void refuse(std::uint16_t device) { ++uses_[device].refusals; }

  [[nodiscard]] const CapacityUse& use(std::uint16_t device) const { return uses_[device]; }
  [[nodiscard]] DeviceCapacity of(std::uint16_t device) const;
  // Whether `bytes` more of that kind fit, in whole pages of the driver.
  [[nodiscard]] bool has_room(Place where, std::uint64_t bytes) const;

 private:
  friend class Accounts;  // reports changes of our memory and of direct memory
  void came(Place where, std::uint64_t bytes);
  void went(Place where, std::uint64_t bytes);
  void direct_came(Place where, std::uint64_t bytes);
  void direct_went(Place where, std::uint64_t bytes);
  void host_came(Kind kind, std::uint64_t bytes) {
    if (kind == Kind::pinned) pinned_ += bytes;
  }
  void host_went(Kind kind, std::uint64_t bytes) {
    if (kind == Kind::pinned) pinned_ -= bytes;
  }
  // Of pinned memory, the device that it takes of, or null.
  [[nodiscard]] const CapacityUse* taken_by(Place where) const;
  [[nodiscard]] CapacityUse* taken_by(Place where);

  std::array<CapacityUse, kMaxDevices> uses_{};
  std::uint64_t pinned_ = 0;  // bytes of pinned memory, ours and the program's own
};

}  // namespace vramscope
