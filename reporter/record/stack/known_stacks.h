// Known stacks are those that a thread has met again and again: they are recognised by the words
// that a walk along them reads, without the walk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reporter/record/stack/loaded_counts.h"
#include "reporter/record/stack/recorded_walk.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

// Stacks are found by the door through which the program came. One is known when each word that its
// walk read holds what it held, compared in the order of the walk: so no word is read that a walk
// would not read now. Objects that come and go make a thread forget all, at the latest after
// kFindsBetweenChecks stacks; a stack whose words differ each time is learnt ever more seldom.
// Threads: each has its own, used by nobody who interrupts it.
class KnownStacks {
 public:
  static constexpr std::size_t kMostFrames = 64;
  static constexpr std::uint32_t kFindsBetweenChecks = 1024;

  // The calling thread's; null: it has no room.
  [[nodiscard]] static KnownStacks* of_thread() noexcept;

  // Fills the stack's native frames and its note. False: it is not known.
  [[nodiscard]] bool find(const Door& door, StackPart part, Stack& stack) noexcept;
  // The note of a known stack, null: find() has to be asked. May run on the program's stack.
  [[nodiscard]] const StackNote* find_note(const Door& door, StackPart part) noexcept;

  // A stack was walked that find() did not know: should its words be recorded now?
  [[nodiscard]] bool should_learn(const Door& door, const Stack& stack) noexcept;
  // What was recorded of a stack that is whole.
  void learn(const Door& door, Stack& stack, const Walked& walked) noexcept;

  // How many stacks were known, for tests.
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 16;

  // Two words of a stack, side by side.
  struct alignas(16) Unit {
    std::array<std::uintptr_t, 2> words;
  };
  // What a walk has read. Where a unit lies, from the door's on; the lowest bit tells that it is
  // one word.
  struct Units {
    std::array<std::uint32_t, Walked::kMostWords> where;
    std::array<Unit, Walked::kMostWords> values;
  };

  // Zero bytes are one that nothing is known of.
  struct Known {
    std::uintptr_t slot;  // of the door; 0: nothing is known
    std::uintptr_t return_address;
    std::uintptr_t frame_pointer;
    std::uint32_t finds;     // since it was learnt
    std::uint32_t at;        // of its content, in bytes
    std::uint32_t capacity;  // bytes from there on
    bool needs_frame_pointer;
    std::array<std::uint8_t, 2> depths;  // by StackPart, as the others
    std::array<std::uint8_t, 2> units;

    // Its content: two notes, then the values of units, then where they lie, then frames.
    std::uint16_t where_begins;  // bytes from the content's beginning
    std::uint16_t frames_begin;
    [[nodiscard]] std::size_t lay_out() noexcept;  // gives the bytes
    [[nodiscard]] bool holds(const Door& door, StackPart part,
                             const std::byte* content) const noexcept;
    void take_units(const Door& door, const Walked& walked, Units& units) noexcept;
  };
  struct Set {
    std::array<Known, kWays> ways;
    std::array<std::uint64_t, kWays> seen;  // hashes of stacks that were not known
    std::uint32_t next_seen, next_way;
    std::uint32_t patience;  // stacks not known between two that are learnt
    std::uint32_t left;
  };

  [[nodiscard]] Known* find(const Door& door, StackPart part) noexcept;
  [[nodiscard]] Set& set_of(const Door& door) noexcept;
  [[nodiscard]] std::byte* content_of(const Known& known) noexcept {
    return contents_.data() + known.at;
  }
  [[nodiscard]] StackNote* notes_of(const Known& known) noexcept {
    return reinterpret_cast<StackNote*>(content_of(known));
  }
  void make_room(Known& known) noexcept;
  void check_objects() noexcept;
  void forget_all() noexcept;

  // Half of what a thread needs of memory lies in its first pages: a stack of 20 frames takes
  // some 700 bytes.
  static constexpr std::size_t kContentBytes = std::size_t{184} << 10;

  std::array<Set, kSets> sets_;
  LoadedCounts loaded_;
  std::uint64_t found_;
  std::uint32_t finds_;
  std::uint32_t used_;  // bytes of the contents; one that was replaced leaves its own to the next
  alignas(16) std::array<std::byte, kContentBytes> contents_;
};

}  // namespace vramscope
