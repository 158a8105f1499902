// Layout and memory of arrays.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/arrays.h"

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kTileBytes = 64;  // what block-linear memory is made of
constexpr std::uint64_t kTileRows = 8;

// Bytes of one element of a format, or of a block of 4 by 4 elements.
struct Element {
  unsigned bytes = 0;            // 0: no format of arrays here
  bool counts_channels = false;  // bytes are per channel
  bool is_block = false;
  bool has_chroma = false;  // a second plane of half the size: 4:2:0
};

Element element_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return {1, true};
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return {2, true};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return {4, true};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return {1};
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return {2};
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
      return {4};
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return {8};
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      return {8, false, true};
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return {16, false, true};
    case CU_AD_FORMAT_NV12:
      return {1, false, false, true};
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
      return {2, false, false, true};
    default:
      return {};
  }
}

// Extents as cuda.h has them for each shape; the largest are those of current devices.
bool good_extents(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const bool cubemap = (d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if (d.Width == 0) return false;
  if (cubemap) {
    return d.Width == d.Height && d.Width <= 32768 &&
           (layered ? d.Depth != 0 && d.Depth % 6 == 0 && d.Depth <= 2046 : d.Depth == 6);
  }
  if (layered) return d.Depth != 0 && d.Depth <= 2048 && d.Width <= 32768 && d.Height <= 32768;
  if (d.Depth != 0) {
    return d.Height != 0 && d.Width <= 16384 && d.Height <= 16384 && d.Depth <= 16384;
  }
  return d.Width <= 131072 && d.Height <= 65536;
}

std::uint64_t slice_bytes(std::uint64_t pitch, std::uint64_t rows) {
  return pitch * (rows == 1 ? 1 : round_up(rows, kTileRows));
}

}  // namespace

Handles<CUarray_st>& arrays() {
  static auto& all = *new Handles<CUarray_st>;
  return all;
}

Handles<CUmipmappedArray_st>& mipmapped_arrays() {
  static auto& all = *new Handles<CUmipmappedArray_st>;
  return all;
}

ArrayMemory::~ArrayMemory() {
  Device& device = *driver().devices[static_cast<std::size_t>(device_)];
  device.shadow.discard(start_, bytes_);
  (void)device.accounts.release(start_);
}

bool lay_out(const CUDA_ARRAY3D_DESCRIPTOR& d, ArrayLayout& layout) {
  constexpr unsigned kFlags = 0x1ff;  // all that cuda.h has
  const Element element = element_of(d.Format);
  if (element.bytes == 0 || (d.Flags & ~kFlags) != 0 || !good_extents(d)) return false;
  const unsigned channels = d.NumChannels;
  const bool good_channels = element.has_chroma ? channels == 3
                                                : channels == 1 || channels == 2 || channels == 4 ||
                                                      (element.is_block && channels == 3);
  if (!good_channels) return false;
  const std::uint64_t step = element.is_block ? 4 : 1;
  const std::uint64_t each = element.counts_channels ? element.bytes * channels : element.bytes;
  layout = {};
  layout.row = round_up(d.Width, step) / step * each;
  layout.pitch = round_up(layout.row, kTileBytes);
  layout.rows = d.Height == 0 ? 1 : round_up(d.Height, step) / step;
  layout.slice = slice_bytes(layout.pitch, layout.rows);
  layout.slices = d.Depth == 0 ? 1 : d.Depth;
  if (element.has_chroma) layout.planes = slice_bytes(layout.pitch, (layout.rows + 1) / 2);
  return true;
}

std::shared_ptr<ArrayMemory> take_array_memory(CUcontext context, std::uint64_t bytes,
                                               CUresult* result) {
  reclaim_from_pools(driver().device_of(context), bytes);
  const Grant grant = grant_in(context, bytes);
  *result = grant.status.ok() ? CUDA_SUCCESS : result_of(grant.status);
  if (!grant.status.ok()) return nullptr;
  return std::make_shared<ArrayMemory>(context->device, grant.address, bytes);
}

void end_arrays_of(CUcontext context) {
  const auto ends = [context](const auto& array) { return array.context == context; };
  mipmapped_arrays().remove_if(ends);
  arrays().remove_if(ends);
}

}  // namespace vramscope::simulator
