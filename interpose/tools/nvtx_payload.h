// What NVTX's extension for payloads needs of the ranges that nvtx.cpp keeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace vramscope {

// Ranges of a domain by its handle, as RangeTable's. Threads: any. In a forked child, and where
// memory for a name lacks, nothing happens.
int push_range(const void* domain, std::string_view name) noexcept;
int pop_range(const void* domain) noexcept;
// `other`: the number that the user's own library gave; 0: none. Gives what the program gets.
[[nodiscard]] std::uint64_t start_range(const void* domain, std::string_view name,
                                        std::uint64_t other) noexcept;
void end_range(std::uint64_t id) noexcept;
void set_mark(const void* domain, std::string_view name) noexcept;

// The user's own injection library; null: there is none.
[[nodiscard]] void* other_nvtx_library() noexcept;
// Whether ranges are kept in this process: not where we are switched off, or secure execution lets
// nobody choose libraries.
[[nodiscard]] bool keeps_ranges() noexcept;

}  // namespace vramscope
