// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/array_bytes.h"

#include <algorithm>

namespace vramscope {
namespace {

struct Shape {
  std::size_t width, height, depth;
  CUarray_format format;
  unsigned int channels;
  unsigned int flags;
};

struct Element {
  std::size_t bits;  // of one element of the plane that the descriptor's width and height count
  bool in_blocks;    // of 4 x 4 elements
};

constexpr bool between(unsigned int format, unsigned int first, unsigned int last) {
  return format >= first && format <= last;
}

// Formats are given by number, because a toolkit that is older than the driver lacks names for
// newer ones.
Element element_of(CUarray_format format, unsigned int channels) {
  const auto number = static_cast<unsigned int>(format);
  switch (number) {
    case 0x01:  // 8-bit integers
    case 0x08:
      return {8ULL * channels, false};
    case 0x02:  // 16-bit integers, half
    case 0x09:
    case 0x10:
      return {16ULL * channels, false};
    case 0x03:  // 32-bit integers, float
    case 0x0a:
    case 0x20:
      return {32ULL * channels, false};
    case 0x91:  // BC1, BC4: 8 bytes a block
    case 0x92:
    case 0x97:
    case 0x98:
      return {4, true};
    case 0xb0:  // NV12: a plane of 8 bits, and half as much colour
      return {12, false};
    case 0x9f:  // P010, P016
    case 0xa1:
      return {24, false};
    case 0xa2:  // NV16, YUY2
    case 0xa5:
      return {16, false};
    case 0xa3:  // P210, P216, Y210, Y216
    case 0xa4:
    case 0xa6:
    case 0xa7:
      return {32, false};
    case 0xb2:  // 8 bits in each of three planes
    case 0xb4:
      return {24, false};
    case 0xb3:  // 16
    case 0xb5:
      return {48, false};
    case 0xb1:  // Y416
      return {64, false};
    default:
      break;
  }
  if (between(number, 0x93, 0x9d)) return {8, true};  // BC2, BC3, BC5 to BC7: 16 bytes a block
  if (between(number, 0xc0, 0xcb)) {  // normalised, the number of channels in the name
    constexpr std::size_t kBits[] = {8, 16, 32, 16, 32, 64};
    return {kBits[(number - 0xc0) % 6], false};
  }
  return {32, false};  // packed formats of four channels
}

std::size_t level_bytes(const Shape& shape, std::size_t width, std::size_t height,
                        std::size_t depth) {
  const Element element = element_of(shape.format, shape.channels);
  if (element.in_blocks) {
    width = (width + 3) / 4 * 4;
    height = (height + 3) / 4 * 4;
  }
  return (width * height * depth * element.bits + 7) / 8;
}

// Each level has the same number of layers and cube faces; all other extents halve.
std::size_t bytes_of(const Shape& shape, unsigned int levels) {
  constexpr unsigned int kMappedLater = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
  if ((shape.flags & kMappedLater) != 0) return 0;
  const bool has_layers = (shape.flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  std::size_t width = shape.width;
  std::size_t height = std::max<std::size_t>(shape.height, 1);
  std::size_t depth = std::max<std::size_t>(shape.depth, 1);
  std::size_t bytes = 0;
  constexpr unsigned int kMostLevels = 32;
  for (unsigned int level = 0; level < std::clamp(levels, 1U, kMostLevels); ++level) {
    bytes += level_bytes(shape, width, height, depth);
    width = std::max<std::size_t>(width / 2, 1);
    height = std::max<std::size_t>(height / 2, 1);
    if (!has_layers) depth = std::max<std::size_t>(depth / 2, 1);
  }
  return bytes;
}

template <class Flat>
Shape shape_of_flat(const Flat& array) {
  return {array.Width, array.Height, 1, array.Format, array.NumChannels, 0};
}
template <class Deep>
Shape shape_of_deep(const Deep& array) {
  return {array.Width, array.Height, array.Depth, array.Format, array.NumChannels, array.Flags};
}

}  // namespace

std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR_v1& array) noexcept {
  return bytes_of(shape_of_flat(array), 1);
}
std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR& array) noexcept {
  return bytes_of(shape_of_flat(array), 1);
}
std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR_v1& array) noexcept {
  return bytes_of(shape_of_deep(array), 1);
}
std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned int levels) noexcept {
  return bytes_of(shape_of_deep(array), levels);
}

}  // namespace vramscope
