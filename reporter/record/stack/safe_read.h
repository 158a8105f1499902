// The functions in safe_read:: read memory that may not be there, without a fault and mostly
// without asking the system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

// Memory of this process at any address, read only where the system has confirmed that it can be.
// A thread remembers the pages that were confirmed to it and forgets them all every
// kWalksBetweenChecks walks. Threads: any; each has pages of its own.
namespace safe_read {

// Whether `bytes` (at most a page) at `address` can be read. Keeps errno.
[[nodiscard]] bool confirm(std::uintptr_t address, std::size_t bytes) noexcept;

inline constexpr std::size_t kPageShift = 12;
// A page has one set and any place in it: frames, code and names lie anywhere, and two pages that
// push each other out would be asked about at each walk.
inline constexpr std::size_t kSetBits = 8;
inline constexpr std::size_t kPlaces = 4;
inline constexpr std::uint32_t kWalksBetweenChecks = 1024;

struct Pages {
  // Numbers, their bits inverted, those asked about last in front; 0: none.
  struct Set {
    std::uintptr_t inverted[kPlaces] = {};
  } sets[std::size_t{1} << kSetBits];
};
extern constinit const Pages no_pages;
// In the thread's room from the first confirmation on; before, no_pages.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit const Pages* pages;
__attribute__((tls_model("initial-exec"))) extern thread_local constinit std::uint32_t walks;

// Fibonacci hashing: neighbours are spread.
[[nodiscard]] inline std::size_t set_of(std::uintptr_t number) noexcept {
  return number * 0x9e3779b97f4a7c15U >> (64 - kSetBits);
}

[[nodiscard]] inline bool knows(std::uintptr_t address) noexcept {
  const std::uintptr_t number = address >> kPageShift;
  const Pages::Set& set = pages->sets[set_of(number)];
  for (const std::uintptr_t inverted : set.inverted) {
    if (inverted == ~number) return true;
  }
  return false;
}

void forget_all() noexcept;

// Once a walk: pages may have gone since they were confirmed.
inline void begin_walk() noexcept {
  if (++walks % kWalksBetweenChecks == 0) forget_all();
}

// 1 when the byte at `address` can be read, else -1 with errno set, in a way that valgrind does not
// take for a mistake of the program's. For use under valgrind only: some sandboxes end a process
// for it, since the call belongs to ptrace's group.
[[nodiscard]] long probe_under_valgrind(const void* address) noexcept;

// Whether `bytes` (1 to a page) at `address` can be read.
[[nodiscard]] inline bool covers(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t last = address + bytes - 1;
  const bool one_page = (address ^ last) >> kPageShift == 0;
  if (knows(address) && (one_page || knows(last))) [[likely]]
    return true;
  return confirm(address, bytes);
}

// The number at an address that is covered.
template <class T>
[[nodiscard]] __attribute__((no_sanitize("address", "thread"))) inline T at(
    std::uintptr_t address) noexcept {
  struct [[gnu::packed, gnu::may_alias]] Unaligned {
    T value;
  };
  return reinterpret_cast<const volatile Unaligned*>(address)->value;
}

// The number at `address`, false when it cannot be read.
template <class T>
[[nodiscard]] inline bool read(std::uintptr_t address, T& value) noexcept {
  if (!covers(address, sizeof(T))) return false;
  value = at<T>(address);
  return true;
}

// Copies through the system, which cannot fault even if the memory goes meanwhile; where that is
// forbidden, as read() does. Keeps errno.
[[nodiscard]] bool copy(std::uintptr_t address, void* to, std::size_t bytes) noexcept;

}  // namespace safe_read
}  // namespace vramscope
