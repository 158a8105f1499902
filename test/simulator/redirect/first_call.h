// The code through which a jump leads: a short piece for each function in a page next to the
// object, and a slot with the address where it continues. At first that is vramscope_first_call,
// which asks vramscope_resolve for the function and calls it with the original registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope::simulator {

#ifdef __aarch64__
inline constexpr std::size_t kJumpBytes = 4;                       // b
inline constexpr std::int64_t kJumpReach = std::int64_t{1} << 27;  // bytes, either way
inline constexpr std::size_t kPieceBytes = 32;
#else
inline constexpr std::size_t kJumpBytes = 5;  // jmp
inline constexpr std::int64_t kJumpReach = std::int64_t{1} << 31;
inline constexpr std::size_t kPieceBytes = 16;
#endif

// Writes the jump to `target` at `at`; both are within kJumpReach.
void write_jump(std::byte* at, const std::byte* target);
// Writes, at the beginning of a page, the code that passes `functions` to vramscope_resolve and
// goes to vramscope_first_call: at most kPieceBytes * 2 bytes.
void write_first_call(std::byte* at, const void* functions);
// Writes the piece with this number, which jumps to the address in `slot`. Returns the value of the
// slot until the function is known.
const std::byte* write_piece(std::byte* at, std::uint32_t number, const void* slot,
                             const std::byte* first_call);

}  // namespace vramscope::simulator

extern "C" {
// Returns the address of the function with this number; never null.
void* vramscope_resolve(void* functions, std::uint64_t number);
void vramscope_first_call();
}
