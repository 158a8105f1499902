// owner_of() says whose code a shared object is: the family of a well-known library, the program, a
// plug-in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

inline constexpr std::string_view kProgramOwner = "program";
inline constexpr std::string_view kUnknownOwner = "unknown";

// Objects between whoever asks and the driver: CUDA's own, ours, and those that only pass calls on
// (the C library, libffi). Their callers are asked.
[[nodiscard]] bool only_passes_on(std::string_view path) noexcept;

// Of CUDA alone, or ours.
[[nodiscard]] bool is_cuda_library(std::string_view path) noexcept;

// "PyTorch" for libc10_cuda.so, "libfilter.so" for an object that nobody knows. May throw
// bad_alloc. is_program: the object that was started.
[[nodiscard]] std::string owner_of(std::string_view path, bool is_program);

}  // namespace vramscope
