// KnownStacks recognises the stacks that a thread meets repeatedly by the words that a walk would
// read, without the walk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reporter/record/stack/loaded_counts.h"
#include "reporter/record/stack/recorded_walk.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

// Stacks are found by the door through which the program entered. A stack is recognised if each
// word that its walk read has its old value. Words are compared in the order of the walk, so only
// words are read that a walk would read now. When objects are loaded or unloaded, a thread forgets
// all stacks, at the latest after kFindsBetweenChecks stacks. A stack whose words differ each time
// is learnt ever more rarely. Threads: each has its own object, which nothing that interrupts the
// thread uses.
class KnownStacks {
 public:
  static constexpr std::size_t kMostFrames = 64;
  static constexpr std::uint32_t kFindsBetweenChecks = 1024;

  // Returns the calling thread's object, or null if the thread has no buffer.
  [[nodiscard]] static KnownStacks* of_thread() noexcept;

  // Fills in the stack's native frames and its note. Returns false if the stack is not known.
  [[nodiscard]] bool find(const Door& door, StackPart part, Stack& stack) noexcept;
  // Returns the note of a known stack, or null if find() must decide. May run on the program's
  // stack.
  [[nodiscard]] const StackNote* find_note(const Door& door, StackPart part) noexcept;

  // Returns whether the words of a walked stack that find() did not know should be recorded now.
  [[nodiscard]] bool should_learn(const Door& door, const Stack& stack) noexcept;
  // Learns a complete stack from its recorded words.
  void learn(const Door& door, Stack& stack, const Walked& walked) noexcept;

  // Returns how many stacks find() has recognised, for tests.
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 16;

  // Two adjacent words of a stack.
  struct alignas(16) Unit {
    std::array<std::uintptr_t, 2> words;
  };
  // The words that a walk read. `where` is a unit's distance from the door; its lowest bit marks a
  // unit of one word.
  struct Units {
    std::array<std::uint32_t, Walked::kMostWords> where;
    std::array<Unit, Walked::kMostWords> values;
  };

  // Zero bytes are an unused entry.
  struct Known {
    std::uintptr_t slot;  // of the door; 0: the entry is unused
    std::uintptr_t return_address;
    std::uintptr_t frame_pointer;
    std::uint32_t finds;     // since the stack was learnt
    std::uint32_t at;        // the content's offset in bytes
    std::uint32_t capacity;  // bytes of the content's place
    bool needs_frame_pointer;
    std::array<std::uint8_t, 2> depths;  // by StackPart, as `units`
    std::array<std::uint8_t, 2> units;

    // The content: two notes, the values of units, their positions, the frames.
    std::uint16_t where_begins;  // bytes from the content's beginning
    std::uint16_t frames_begin;
    [[nodiscard]] std::size_t lay_out() noexcept;  // returns the content's size in bytes
    [[nodiscard]] bool holds(const Door& door, StackPart part,
                             const std::byte* content) const noexcept;
    void take_units(const Door& door, const Walked& walked, Units& units) noexcept;
  };
  struct Set {
    std::array<Known, kWays> ways;
    std::array<std::uint64_t, kWays> seen;  // hashes of stacks that were not known
    std::uint32_t next_seen, next_way;
    std::uint32_t patience;  // unknown stacks between two that are learnt
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

  // Half of the memory that a thread needs lies in the first pages: a stack of 20 frames takes
  // about 700 bytes.
  static constexpr std::size_t kContentBytes = std::size_t{184} << 10;

  std::array<Set, kSets> sets_;
  LoadedCounts loaded_;
  std::uint64_t found_;
  std::uint32_t finds_;
  std::uint32_t used_;  // bytes of contents_ in use; a replaced stack leaves its place to the next
                        // one
  alignas(16) std::array<std::byte, kContentBytes> contents_;
};

}  // namespace vramscope
