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

  // Zero bytes are one that nothing is known of.
  struct Known {
    std::uintptr_t slot;  // of the door; 0: nothing is known
    std::uintptr_t return_address;
    std::uintptr_t frame_pointer;
    std::uint32_t finds;  // since it was learnt
    bool needs_frame_pointer;
    std::array<std::uint8_t, 2> depths;  // by StackPart, as the others
    std::array<std::uint8_t, 2> units;
    std::array<StackNote, 2> notes;
    // Where a unit lies, from the door's on; the lower bits tell which of its words were read.
    std::array<std::uint32_t, Walked::kMostWords> where;
    std::array<Unit, Walked::kMostWords> values;
    std::array<std::uintptr_t, kMostFrames> frames;

    [[nodiscard]] bool holds(const Door& door, StackPart part) const noexcept;
    void keep(const Door& door, const Walked& walked) noexcept;
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
  void check_objects() noexcept;

  std::array<Set, kSets> sets_;
  LoadedCounts loaded_;
  std::uint64_t found_;
  std::uint32_t finds_;
};

}  // namespace vramscope
