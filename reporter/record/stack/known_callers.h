// KnownCallers finds tags without a stack, by the address from which the driver was called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "reporter/record/stack/stack_table.h"

namespace vramscope {

// Some tags depend only on the caller of the driver: all tags without stacks, and tags of calls
// that sampling leaves out if the caller is the owner's own code. Threads: each has its own object,
// which nothing that interrupts the thread uses.
class KnownCallers {
 public:
  // Returns the calling thread's object for a recorder, or null if the thread has no buffer.
  [[nodiscard]] static KnownCallers* of_thread(const void* recorder) noexcept;

  using Rest = std::array<std::uint64_t, 3>;  // StackKey::rest()
  // Returns 0 if the tag is not known.
  [[nodiscard]] Tag find(std::uintptr_t caller, const Rest& rest) const noexcept {
    const Known& known = known_[place_of(caller, rest)];
    return known.caller == caller && known.rest == rest ? known.tag : 0;
  }
  void learn(std::uintptr_t caller, const Rest& rest, Tag tag) noexcept;

  // Whether a caller's code belongs to its owner. It is looked up once for each caller, until an
  // object is unloaded.
  enum class IsOwner : std::uint8_t { unasked, no, yes };
  [[nodiscard]] IsOwner is_owner(std::uintptr_t caller, std::uint32_t epoch) const noexcept;
  void note_owner(std::uintptr_t caller, std::uint32_t epoch, bool is_owner) noexcept;

 private:
  static constexpr std::size_t kKnown = 128;
  static constexpr std::size_t kAsked = 32;

  // Zero bytes are an unused entry.
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

  // Entries of one caller's size classes lie side by side.
  [[nodiscard]] static std::size_t place_of(std::uintptr_t caller, const Rest& rest) noexcept {
    return (caller ^ caller >> 7 ^ rest[0] >> 40 ^ rest[1] ^ rest[1] >> 32 ^ rest[2] * 5) % kKnown;
  }

  const void* recorder_;
  std::array<Known, kKnown> known_;
  std::array<Asked, kAsked> asked_;
};

}  // namespace vramscope
