// PeerProcesses lets processes that share a device tell each other about their contexts there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/base/place.h"

namespace vramscope {

// Each process has one note for each device, which holds one or two numbers. Other processes of the
// same user can read it, and it vanishes with its process: it is a lock on a byte of an empty file,
// and the byte's offset encodes the numbers. The file stays in the user's private folder
// (live_folder.h), which other users cannot access. A mapping of the file holds the lock, so that
// no descriptor stays open that the program could see or close. Between users and between
// containers nothing is shared, and each process seems to be alone. The file appears with the
// process's first context. Threads: any. Not for a forked child, which has no notes.
class PeerProcesses {
 public:
  // runtime_folder: the variable XDG_RUNTIME_DIR, or "". It must outlive this.
  explicit PeerProcesses(const std::string& runtime_folder) : runtime_folder_(runtime_folder) {}
  // Announces that this process has a context on `device`, whose UUID is `uuid`. before_bytes: the
  // used bytes of the device when the process or its `run` last saw it without a context.
  void announce(std::uint16_t device, std::string_view uuid, std::uint64_t before_bytes) noexcept;
  // Returns how many processes, including this one, have made a context on `device` since
  // `before_bytes` were used: those that found at least as much in use. At least 1.
  [[nodiscard]] unsigned made_since(std::uint16_t device) const noexcept;
  // Tells the others how many bytes this process's context on `device` took at most.
  void tell(std::uint16_t device, std::uint64_t taken_bytes) noexcept;
  // Returns the least that any process told, including this one, rounded up to 2 MiB.
  [[nodiscard]] std::optional<std::uint64_t> least_taken(std::uint16_t device) const noexcept;
  // Withdraws the note: this process has no context on `device` any more.
  void withdraw(std::uint16_t device) noexcept;

 private:
  [[nodiscard]] const char* file() const noexcept;
  void note(std::uint16_t device, std::uint64_t text) noexcept;

  const std::string& runtime_folder_;
  std::array<std::atomic<std::uint64_t>, kMaxDevices> notes_{};  // 0: never one
};

}  // namespace vramscope
