// plain_bytes() returns how much of a function's beginning a patching tool can move elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace vramscope::simulator {

// The most that a patch overwrites: jmp *0(%rip) and the address behind it.
inline constexpr std::size_t kPatchBytes = 14;

// Returns the bytes of the leading instructions that mean the same at any address: push of a
// register, mov between registers, sub of a number from rsp. Counts only as far as a patch reaches.
inline std::size_t plain_bytes(const void* function) {
  const auto* const code = static_cast<const unsigned char*>(function);
  std::size_t at = 0;
  const auto is = [&](const char* bytes, std::size_t count) {
    return std::memcmp(code + at, bytes, count) == 0;
  };
  while (at < kPatchBytes) {
    const std::size_t prefix = code[at] == 0x41 ? 1 : 0;  // r8 to r15
    if ((code[at + prefix] & 0xf8) == 0x50) {
      at += prefix + 1;
    } else if (is("\x48\x89", 2) && code[at + 2] >= 0xc0) {
      at += 3;
    } else if (is("\x48\x83\xec", 3)) {
      at += 4;
    } else if (is("\x48\x81\xec", 3)) {
      at += 7;
    } else {
      break;
    }
  }
  return at;
}

}  // namespace vramscope::simulator
