// Native call stacks of the calling thread, as return addresses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vramscope {

inline constexpr std::size_t kMaxFrames = 128;

// Return addresses, innermost first, our own library's frames removed.
struct Stack {
  std::array<std::uintptr_t, kMaxFrames> frames;
  std::size_t depth = 0;
  [[nodiscard]] std::span<const std::uintptr_t> view() const { return {frames.data(), depth}; }
};

enum class StackMethod : std::uint8_t { none, frame_pointers, unwind_tables };

// Opens libunwind (dlopen "libunwind.so.8", RTLD_LOCAL) if `wanted` asks for it and returns what
// will be used: unwind_tables, else frame_pointers, else none. Call once, before any capture, on a
// thread that holds no lock. `real_dlsym` is the C library's own dlsym (ours is exported and must
// not be entered from here).
using DlsymFunction = void* (*)(void* handle, const char* name);
StackMethod open_stacks(StackMethod wanted, std::size_t max_depth,
                        DlsymFunction real_dlsym) noexcept;

// As much of a stack as nearly always tells who asks, behind the CUDA runtime's own frames.
inline constexpr std::size_t kOwnerFrames = 10;

// Fills `stack` with the calling thread's frames, without those of the library or program that this
// code is linked into. Never fails: a walk that cannot go on gives a shorter stack, and on a stack
// that is not the thread's own (a coroutine's) frame pointers give none. Code between the caller
// and here must be compiled with frame pointers for that method. Threads: any. Takes no lock of
// ours; keeps errno.
// most: frames wanted, at most as many as open_stacks() said.
void capture(Stack& stack, std::size_t most = kMaxFrames) noexcept;

}  // namespace vramscope
