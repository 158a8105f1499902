// unpacked() unpacks the code in fat binaries that nvcc compressed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope::simulator {

enum class PackedBy : std::uint8_t { nothing, lz4, zstd };

// From the flags of an entry of a fat binary.
[[nodiscard]] PackedBy packing_of(std::uint64_t flags);

// Returns the `bytes` bytes that were packed. "": the content is damaged, it claims more than 1
// GiB, or the system lacks the library that unpacks it (liblz4.so.1, libzstd.so.1), which is loaded
// here.
[[nodiscard]] std::string unpacked(PackedBy by, std::string_view packed, std::uint64_t bytes);

}  // namespace vramscope::simulator
