// safe_read:: reads memory that may not exist, without a fault and mostly without asking the
// system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

// Reads memory of this process at any address, but only after the system has confirmed that it can
// be read. A thread remembers its confirmed pages and forgets all of them every kWalksBetweenChecks
// walks. Threads: any; each has its own pages.
namespace safe_read {

// Asks whether `bytes` (at most a page) at `address` can be read. Keeps errno.
[[nodiscard]] bool confirm(std::uintptr_t address, std::size_t bytes) noexcept;

inline constexpr std::size_t kPageShift = 12;
// A page belongs to one set and may take any place in it. Frames, code and names lie anywhere; two
// pages that displaced each other would be asked about at each walk.
inline constexpr std::size_t kSetBits = 8;
inline constexpr std::size_t kPlaces = 4;
inline constexpr std::uint32_t kWalksBetweenChecks = 1024;

struct Pages {
  // Page numbers with inverted bits, the latest confirmed first; 0: none.
  struct Set {
    std::uintptr_t inverted[kPlaces] = {};
  } sets[std::size_t{1} << kSetBits];
};
extern constinit const Pages no_pages;
// Lies in the thread's buffer from the first confirmation on; before that, it is no_pages.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit const Pages* pages;
__attribute__((tls_model("initial-exec"))) extern thread_local constinit std::uint32_t walks;

// Fibonacci hashing spreads neighbouring pages.
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

// Is called once for each walk, since confirmed pages may have been unmapped.
inline void begin_walk() noexcept {
  if (++walks % kWalksBetweenChecks == 0) forget_all();
}

// Returns 1 if the byte at `address` can be read, else -1 with errno set, in a way that valgrind
// does not report as an error of the program. Only for use under valgrind: the call belongs to
// ptrace's group, and some sandboxes end a process for it.
[[nodiscard]] long probe_under_valgrind(const void* address) noexcept;

// Returns whether `bytes` (1 to a page) at `address` can be read.
[[nodiscard]] inline bool covers(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t last = address + bytes - 1;
  const bool one_page = (address ^ last) >> kPageShift == 0;
  if (knows(address) && (one_page || knows(last))) [[likely]]
    return true;
  return confirm(address, bytes);
}

// Reads a number at an address that covers() has confirmed.
template <class T>
[[nodiscard]] __attribute__((no_sanitize("address", "thread"))) inline T at(
    std::uintptr_t address) noexcept {
  struct [[gnu::packed, gnu::may_alias]] Unaligned {
    T value;
  };
  return reinterpret_cast<const volatile Unaligned*>(address)->value;
}

// Reads the number at `address`. Returns false if it cannot be read.
template <class T>
[[nodiscard]] inline bool read(std::uintptr_t address, T& value) noexcept {
  if (!covers(address, sizeof(T))) return false;
  value = at<T>(address);
  return true;
}

// Copies through the system, which cannot fault even if the memory is unmapped meanwhile. Where the
// system forbids that, copies like read(). Keeps errno.
[[nodiscard]] bool copy(std::uintptr_t address, void* to, std::size_t bytes) noexcept;

}  // namespace safe_read
}  // namespace vramscope
