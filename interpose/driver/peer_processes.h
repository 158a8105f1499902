// What processes that use a device together tell each other of their contexts there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/ground/place.h"

namespace vramscope {

// Each process has one note a device, with a number or two, which other processes of its user can
// read and which vanishes with it: a lock on a byte, whose offset says it all, of an empty file
// that stays in the user's private folder (live_folder.h), where no other user reaches it. A
// mapping of that file holds the lock, so that no descriptor stays open that the program could see
// or close. Nothing is shared where that does not work, as between users and between containers;
// then each process seems to be alone. The file appears with the process's first context. Threads:
// any. Not for a forked child, which has no notes.
class PeerProcesses {
 public:
  // runtime_folder: the variable XDG_RUNTIME_DIR; "": there is none. It outlives this.
  explicit PeerProcesses(const std::string& runtime_folder) : runtime_folder_(runtime_folder) {}
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
  [[nodiscard]] const char* file() const noexcept;
  void note(std::uint16_t device, std::uint64_t text) noexcept;

  const std::string& runtime_folder_;
  std::array<std::atomic<std::uint64_t>, kMaxDevices> notes_{};  // 0: never one
};

}  // namespace vramscope
