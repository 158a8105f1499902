// The functions of nvtx.cpp that NVTX's extensions need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// Ranges of a domain by its handle, as in RangeTable. They do nothing in a forked child, or if
// memory for a name is exhausted. Threads: any.
int push_range(const void* domain, std::string_view name) noexcept;
int pop_range(const void* domain) noexcept;
// `other`: the number from the user's own library; 0: none. Returns the number for the program.
[[nodiscard]] std::uint64_t start_range(const void* domain, std::string_view name,
                                        std::uint64_t other) noexcept;
void end_range(std::uint64_t id) noexcept;
void set_mark(const void* domain, std::string_view name) noexcept;

// Returns the name in a message of the type (nvtxMessageType_t), behind that of the domain:
// "domain:name". May throw bad_alloc.
[[nodiscard]] std::string nvtx_name(const void* domain, std::uint32_t type, const void* message);

// Returns the user's own injection library, or null.
[[nodiscard]] void* other_nvtx_library() noexcept;
// Whether ranges are kept in this process: not if we are switched off, or in secure execution, in
// which nobody may choose libraries.
[[nodiscard]] bool keeps_ranges() noexcept;

}  // namespace vramscope
