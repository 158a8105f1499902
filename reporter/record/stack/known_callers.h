// Known callers are those whose question is answered without their stack: by where the driver was
// called from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "reporter/record/stack/stack_table.h"

namespace vramscope {

// Some tags depend on no more of the stack than on who called the driver: where none is taken, and
// those of calls that sampling leaves out when the caller is the owner's own code.
// Threads: each has its own, used by nobody who interrupts it.
class KnownCallers {
 public:
  // The calling thread's, for that recorder; null: it has no room.
  [[nodiscard]] static KnownCallers* of_thread(const void* recorder) noexcept;

  using Rest = std::array<std::uint64_t, 3>;  // StackKey::rest()
  // 0: not known.
  [[nodiscard]] Tag find(std::uintptr_t caller, const Rest& rest) const noexcept {
    const Known& known = known_[place_of(caller, rest)];
    return known.caller == caller && known.rest == rest ? known.tag : 0;
  }
  void learn(std::uintptr_t caller, const Rest& rest, Tag tag) noexcept;

  // Whether a caller's code is its owner's: asked once for each, until an object is unloaded.
  enum class IsOwner : std::uint8_t { unasked, no, yes };
  [[nodiscard]] IsOwner is_owner(std::uintptr_t caller, std::uint32_t epoch) const noexcept;
  void note_owner(std::uintptr_t caller, std::uint32_t epoch, bool is_owner) noexcept;

 private:
  static constexpr std::size_t kKnown = 128;
  static constexpr std::size_t kAsked = 32;

  // Zero bytes are one that nothing is known of.
  struct Known {
    std::uintptr_t caller;
    Rest rest;
    Tag tag;
  };
  struct Asked {
    std::uintptr_t caller;
    std::uint32_t epoch;
    bool is_owner;
  };

  // Size classes of one caller lie side by side.
  [[nodiscard]] static std::size_t place_of(std::uintptr_t caller, const Rest& rest) noexcept {
    return (caller ^ caller >> 7 ^ rest[0] >> 40 ^ rest[1] ^ rest[1] >> 32 ^ rest[2] * 5) % kKnown;
  }

  const void* recorder_;
  std::array<Known, kKnown> known_;
  std::array<Asked, kAsked> asked_;
};

}  // namespace vramscope
