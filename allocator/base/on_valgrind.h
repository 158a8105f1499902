// What valgrind is asked and told: by instructions that change nothing where a processor executes
// them. They are part of its interface (valgrind.h), and written here so that each build has them,
// without that header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace vramscope {

// 0 where nobody listens. A request has a number and five arguments.
inline std::uintptr_t ask_valgrind(std::uintptr_t request, std::uintptr_t first = 0,
                                   std::uintptr_t second = 0) noexcept {
  const volatile std::array<std::uintptr_t, 6> asked{request, first, second};
  std::uintptr_t answer = 0;
#if defined(__x86_64__)
  __asm__ volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(&asked)
      : "cc", "memory");
#elif defined(__aarch64__)
  register std::uintptr_t result __asm__("x3") = 0;
  register const volatile void* question __asm__("x4") = &asked;
  __asm__ volatile(
      "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(result)
      : "r"(question)
      : "cc", "memory");
  answer = result;
#endif
  return answer;
}

// Whether the process runs under valgrind, whose memory checker takes probing for a mistake.
[[nodiscard]] inline bool is_on_valgrind() noexcept {
  constexpr std::uintptr_t kRunningOnValgrind = 0x1001;
  return ask_valgrind(kRunningOnValgrind) != 0;
}

// The bytes between are a stack.
inline void tell_valgrind_of_stack(const void* begin, const void* last) noexcept {
  constexpr std::uintptr_t kStackRegister = 0x1501;
  ask_valgrind(kStackRegister, reinterpret_cast<std::uintptr_t>(begin),
               reinterpret_cast<std::uintptr_t>(last));
}

}  // namespace vramscope
