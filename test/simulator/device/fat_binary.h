// code_in() and code_for() say which code a fat binary has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vramscope::simulator {

// Architectures as 10 times the compute capability: 89 is 8.9.
struct CodeVersion {
  int ptx = 0;     // for which the source was compiled
  int binary = 0;  // of the machine code
};

// How many bytes of an image is_fat_binary() reads.
inline constexpr std::size_t kFatBinaryStart = 16;

// Each function takes a fat binary, or nvcc's wrapper around one: what the start-up code of a
// program registers, and what programs pass to cuModuleLoadData().
[[nodiscard]] bool is_fat_binary(const void* image);

// Machine code runs on devices of its major version, from its own minor version on; PTX is compiled
// for any device from its version on. Returns nothing if the image is no fat binary, or has no code
// for the device.
[[nodiscard]] std::optional<CodeVersion> code_for(const void* image, int device);

// Returns the first machine code as an ELF file, else the first PTX, unpacked. Code of all
// architectures agrees on parameters and variables. "": there is none, or it cannot be unpacked.
[[nodiscard]] std::string code_in(const void* image);

}  // namespace vramscope::simulator
