// What processes that use a device together tell each other of their contexts there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "allocator/ground/place.h"

namespace vramscope {

// Each process has one note a device, with a number or two, which all can read and which vanishes
// with the process: a lock on a byte of /dev/zero, whose offset says it all. A mapping of that file
// holds the lock, so that no descriptor stays open that the program could see or close. Nothing is
// shared where that does not work, as between containers; then each process seems to be alone.
// Threads: any. Not for a forked child, which has no notes.
class SiblingContexts {
 public:
  // From now on this process has a context on `device`, whose UUID is `uuid`. `before_bytes` of the
  // device were used when the process or its `run` last knew it to have none.
  void announce(std::uint16_t device, std::string_view uuid, std::uint64_t before_bytes) noexcept;
  // So many processes, this one included, have a context on `device` that was not there when
  // `before_bytes` were used: those that found as much or more in use. 1 at least.
  [[nodiscard]] unsigned made_since(std::uint16_t device) const noexcept;
  // This process's context on `device` took so many bytes at most.
  void tell(std::uint16_t device, std::uint64_t taken_bytes) noexcept;
  // The least that any of them told, this one included, rounded up to 2 MiB.
  [[nodiscard]] std::optional<std::uint64_t> least_taken(std::uint16_t device) const noexcept;
  // This process has no context on `device` any more.
  void withdraw(std::uint16_t device) noexcept;

 private:
  void note(std::uint16_t device, std::uint64_t text) noexcept;

  std::array<std::atomic<std::uint64_t>, kMaxDevices> notes_{};  // 0: never one
};

}  // namespace vramscope
