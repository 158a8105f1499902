// Capacities say what all memory on a device may add up to, and does: segments of ours, the
// program's own memory, and what either is about to get.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "allocator/ground/driver_pages.h"
#include "allocator/ground/limits.h"
#include "allocator/ground/place.h"
#include "allocator/ground/snapshot.h"

namespace vramscope {

// What counts against a device's capacity.
struct CapacityUse {
  std::uint64_t limit = Limits::kUnlimited;  // the capacity
  std::uint64_t reserved = 0;                // bytes of our own segments
  std::uint64_t awaited = 0;                 // asked of the backend and not answered yet
  std::uint64_t direct = 0;                  // bytes that the program got itself, of every kind
  std::uint64_t managed = 0;                 // of those, memory that gives way to other memory
  std::uint64_t promised = 0;                // that it is about to get
  std::uint64_t kept = 0;                    // by the driver, for this process's contexts and code
  std::uint64_t refusals = 0;                // requests that found no room
  PageRounding rounding;  // of segments and of direct memory, had or about to come
};

// Threads: one at a time.
class Capacities {
 public:
  // So much of it the driver keeps for this process's contexts and code.
  void set(std::uint16_t device, std::uint64_t bytes, std::uint64_t kept_by_driver);
  // The program is about to get so many bytes of a kind, or is no longer.
  void promise(Place where, std::uint64_t bytes);
  void end_promise(Place where, std::uint64_t bytes);
  // The backend is being asked for so much, and has answered.
  void ask(Place where, std::uint64_t bytes);
  void end_asking(Place where, std::uint64_t bytes);
  void refuse(std::uint16_t device) { ++uses_[device].refusals; }

  [[nodiscard]] const CapacityUse& use(std::uint16_t device) const { return uses_[device]; }
  [[nodiscard]] DeviceCapacity of(std::uint16_t device) const;
  // Whether so many more bytes of that kind fit, in the driver's pages.
  [[nodiscard]] bool has_room(Place where, std::uint64_t bytes) const;

 private:
  friend class Accounts;  // says what came and went: memory of ours, and direct memory
  void came(Place where, std::uint64_t bytes);
  void went(Place where, std::uint64_t bytes);
  void direct_came(Place where, std::uint64_t bytes);
  void direct_went(Place where, std::uint64_t bytes);

  std::array<CapacityUse, kMaxDevices> uses_{};
};

}  // namespace vramscope
