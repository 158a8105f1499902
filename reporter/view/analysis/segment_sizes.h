// The sizes of our allocator's blocks and segments, for readers of files that do not contain them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// In bytes, as in allocator/README.md.
inline constexpr std::uint64_t kBlockStep = 512;  // blocks of device memory are multiples of it
inline constexpr std::uint64_t kHostStep = 4096;  // blocks of pinned memory are multiples of it:
                                                  // pages
inline constexpr std::uint64_t kSmallRequest = 1 << 20;  // requests up to this size share segments
inline constexpr std::uint64_t kDriverStep = 2 << 20;    // the driver rounds to multiples of it
// PyTorch's policy: requests below kOwnSegment share such segments, larger ones do not.
inline constexpr std::uint64_t kLargeSegment = 20 << 20;
inline constexpr std::uint64_t kOwnSegment = 10 << 20;

}  // namespace vramscope
