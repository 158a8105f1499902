// Reading memory that may not be there, without a fault and mostly without asking the system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

// Memory of this process at any address, read only where the system has confirmed that it can be.
// A thread remembers the pages that were confirmed to it and forgets them all every
// kWalksBetweenChecks walks. Threads: any; each has pages of its own.
namespace proven {

// Whether `bytes` (at most a page) at `address` can be read. Keeps errno.
[[nodiscard]] bool confirm(std::uintptr_t address, std::size_t bytes) noexcept;

inline constexpr std::size_t kPageShift = 12;
inline constexpr std::size_t kPages = 256;
inline constexpr std::uint32_t kWalksBetweenChecks = 1024;

struct Pages {
  std::uintptr_t inverted[kPages] = {};  // numbers, their bits inverted; 0: none
  std::uint32_t walks = 0;
};
__attribute__((tls_model("initial-exec"))) extern thread_local constinit Pages pages;

[[nodiscard]] inline bool knows(std::uintptr_t address) noexcept {
  const std::uintptr_t number = address >> kPageShift;
  return pages.inverted[(number ^ number >> 8) % kPages] == ~number;
}

// Once a walk: pages may have gone since they were confirmed.
inline void begin_walk() noexcept {
  if (++pages.walks % kWalksBetweenChecks == 0) {
    for (std::uintptr_t& number : pages.inverted) number = 0;
  }
}

// The value at `address`, false when it cannot be read. T is a plain number of at most 8 bytes.
template <class T>
[[nodiscard]] __attribute__((no_sanitize("address", "thread"))) inline bool read(
    std::uintptr_t address, T& value) noexcept {
  const std::uintptr_t last = address + sizeof(T) - 1;
  if (!knows(address) || !knows(last)) [[unlikely]] {
    if (!confirm(address, sizeof(T))) return false;
  }
  struct [[gnu::packed, gnu::may_alias]] Unaligned {
    T value;
  };
  value = reinterpret_cast<const volatile Unaligned*>(address)->value;
  return true;
}

// Copies through the system, which cannot fault even if the memory goes meanwhile; where that is
// forbidden, as read() does. Keeps errno.
[[nodiscard]] bool copy(std::uintptr_t address, void* to, std::size_t bytes) noexcept;

}  // namespace proven
}  // namespace vramscope
