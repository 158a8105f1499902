// recorded_walk:: walks by unwind tables and records what the walk depended on, so that code can
// see later, without a walk, that another one would have the same result.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reporter/record/stack/stack.h"

namespace vramscope {

// Where the program called into our code: the slot of the return address, and the program's frame
// pointer (Frame of machine.h).
struct Door {
  std::uintptr_t slot = 0;  // 0: not found
  std::uintptr_t return_address = 0;
  std::uintptr_t frame_pointer = 0;
};

// A word of the stack that a walk read.
struct StackWord {
  std::uintptr_t address = 0;
  std::uintptr_t value = 0;
};

// The words that a walk read, in order. A walk that finds equal words so far reads the same word
// next, and so on to the end.
struct Walked {
  static constexpr std::size_t kMostWords = 96;
  std::array<StackWord, kMostWords> words;
  std::size_t count = 0;
  std::size_t count_of_few = 0;  // words read until kOwnerFrames frames of the program were found;
                                 // 0: never
  bool needs_frame_pointer = false;  // the walk also depended on Door::frame_pointer

  void begin() {
    count = count_of_few = 0;
    needs_frame_pointer = false;
  }
  // Returns false if there is no room.
  [[nodiscard]] bool add(StackWord word) {
    if (count == kMostWords) return false;
    words[count++] = word;
    return true;
  }
};

namespace recorded_walk {

#ifdef __aarch64__
// On this processor our function knows only its caller's frame pointer, while tables count from the
// caller's stack pointer. So no walk begins at the door.
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
// Must be called once, like open_stacks(). Without libunwind's unwinder for other processes
// (libunwind-x86_64.so.8) the other functions return false.
void open(DlsymFunction real_dlsym) noexcept;

// Fills the stack with at most `wanted` native frames from the door on, without our own. Returns
// false if a frame on the way has no rule that says how to leave it (frame_rules.h); the stack's
// content is then useless. A frame takes about 3 ns once its rule is known. Asks the loader about
// objects. Threads: any.
[[nodiscard]] bool walk(const Door& door, std::size_t wanted, Stack& stack) noexcept;

// Walks from the door. Returns whether it meets the expected frames (`ends`: and no more) and
// depended only on the door, words of the stack, and code and tables of loaded objects. Frames of
// ours are left out. Otherwise like walk().
[[nodiscard]] bool take(const Door& door, std::span<const std::uintptr_t> expected, bool ends,
                        Walked& walked) noexcept;

// Forgets the rules, since objects were unloaded. Threads: any.
void forget_rules() noexcept;
// Returns whether rules were forgotten since they guided the walk of this stack: frames of code
// that replaced other code may be wrong.
[[nodiscard]] bool is_outdated(const Stack& stack) noexcept;
#endif

}  // namespace recorded_walk
}  // namespace vramscope
