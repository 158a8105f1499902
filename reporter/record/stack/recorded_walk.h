// A recorded walk is a walk by unwind tables that tells what it depended on, so that somebody can
// see later, without a walk, that another one would end the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reporter/record/stack/stack.h"

namespace vramscope {

// Where the program called into code of ours: the slot of the return address, and the frame
// pointer that it had (Frame of machine.h).
struct Door {
  std::uintptr_t slot = 0;  // 0: not found
  std::uintptr_t return_address = 0;
  std::uintptr_t frame_pointer = 0;
};

// A word of the stack that a walk has read.
struct StackWord {
  std::uintptr_t address = 0;
  std::uintptr_t value = 0;
};

// What a walk has read, in its order: a walk that finds the same at the beginning reads the same
// word next, and so on to the end.
struct Walked {
  static constexpr std::size_t kMostWords = 96;
  std::array<StackWord, kMostWords> words;
  std::size_t count = 0;
  std::size_t count_of_few = 0;      // until kOwnerFrames of the program's were met; 0: never
  bool needs_frame_pointer = false;  // it depended on Door::frame_pointer, too

  void begin() {
    count = count_of_few = 0;
    needs_frame_pointer = false;
  }
  // False: there is no room.
  [[nodiscard]] bool add(StackWord word) {
    if (count == kMostWords) return false;
    words[count++] = word;
    return true;
  }
};

namespace recorded_walk {

#ifdef __aarch64__
// What a function of ours knows there of its caller is a frame pointer, and tables count from the
// stack pointer that it had: no walk begins at the door.
inline constexpr bool kExists = false;
inline void open(DlsymFunction) noexcept {}
[[nodiscard]] inline bool take(const Door&, std::span<const std::uintptr_t>, bool,
                               Walked&) noexcept {
  return false;
}
[[nodiscard]] inline bool walk(const Door&, std::size_t, Stack&) noexcept { return false; }
inline void forget_rules() noexcept {}
[[nodiscard]] inline bool is_outdated(const Stack&) noexcept { return false; }
#else
inline constexpr bool kExists = true;
// Once, as open_stacks(). Without libunwind's unwinder for stacks of others
// (libunwind-x86_64.so.8) the others answer false.
void open(DlsymFunction real_dlsym) noexcept;

// Fills the stack with the native frames from the door on, at most `wanted`, those of ours left
// out. False: a frame on the way is none that a rule tells how to leave (frame_rules.h), and what
// the stack holds is of no use. A frame takes some 3 ns once its rule is known. Threads: any; asks
// the loader about objects.
[[nodiscard]] bool walk(const Door& door, std::size_t wanted, Stack& stack) noexcept;

// Walks from the door and says whether it meets the expected frames (`ends`: and no more), and
// depended on nothing but the door, words of the stack, and code and tables of loaded objects.
// Frames of ours are left out. As walk().
[[nodiscard]] bool take(const Door& door, std::span<const std::uintptr_t> expected, bool ends,
                        Walked& walked) noexcept;

// Objects were unloaded: the rules of their code hold no more. Threads: any.
void forget_rules() noexcept;
// Whether rules were forgotten since the stack was walked by them: frames of code that took the
// place of other code may be wrong.
[[nodiscard]] bool is_outdated(const Stack& stack) noexcept;
#endif

}  // namespace recorded_walk
}  // namespace vramscope
