// How large the blocks and segments of our allocator are, for readers of what does not tell it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// In bytes; as allocator/README.md tells them.
inline constexpr std::uint64_t kBlockStep = 512;         // blocks of device memory are multiples
inline constexpr std::uint64_t kHostStep = 4096;         // of pinned memory: pages
inline constexpr std::uint64_t kSmallRequest = 1 << 20;  // such ones share segments
inline constexpr std::uint64_t kDriverStep = 2 << 20;    // what the driver rounds to
// Of PyTorch's policy: what requests below kOwnSegment share, and larger ones do not.
inline constexpr std::uint64_t kLargeSegment = 20 << 20;
inline constexpr std::uint64_t kOwnSegment = 10 << 20;

}  // namespace vramscope
