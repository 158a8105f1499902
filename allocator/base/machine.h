// What differs between the machines that Vramscope is built for: x86-64 and aarch64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

// A multiple of the page of every kernel for this machine: those for aarch64 have pages of 4, 16 or
// 64 KiB. (A test has the largest everywhere.)
#if defined(__aarch64__) || defined(VRAMSCOPE_LARGEST_PAGES)
inline constexpr std::size_t kWholePage = std::size_t{64} << 10;
#else
inline constexpr std::size_t kWholePage = 4096;
#endif

// The address of the calling thread's control block: of each living thread another one. x86-64 has
// it at fs:0, aarch64 in tpidr_el0.
[[nodiscard]] inline std::uintptr_t this_control_block() noexcept {
  std::uintptr_t block = 0;
#ifdef __aarch64__
  __asm__("mrs %0, tpidr_el0" : "=r"(block));
#else
  __asm__("mov %%fs:0, %0" : "=r"(block));
#endif
  return block;
}

// Makes a look at memory that others write cheaper for them.
inline void pause_processor() noexcept {
#ifdef __aarch64__
  __asm__ volatile("isb");
#else
  __builtin_ia32_pause();
#endif
}

// A full barrier; a fence by its name is what gcc's thread sanitizer refuses.
inline void full_barrier() noexcept {
#ifdef __aarch64__
  __asm__ volatile("dmb ish" ::: "memory");
#else
  __builtin_ia32_mfence();
#endif
}

// Whether return addresses on the stack may carry a signature, as programs are compiled.
#ifdef __aarch64__
inline constexpr bool kSignsReturns = true;
#else
inline constexpr bool kSignsReturns = false;
#endif

// The address of code without the signature that it may carry.
[[nodiscard]] inline std::uintptr_t without_signature(std::uintptr_t code) noexcept {
#ifdef __aarch64__
  // xpaclri, which is a hint: processors without signatures do nothing.
  register std::uintptr_t link __asm__("x30") = code;
  __asm__("hint #7" : "+r"(link));
  return link;
#else
  return code;
#endif
}

// What a function's frame pointer points to (System V ABI for x86-64, section 3.2.2; Procedure Call
// Standard for the Arm 64-bit Architecture, section 6.4.6).
struct Frame {
  const Frame* caller;
  std::uintptr_t return_address;  // with its signature, where functions sign theirs

  // Where the function returns to.
  [[nodiscard]] std::uintptr_t code() const noexcept { return without_signature(return_address); }
};

}  // namespace vramscope
