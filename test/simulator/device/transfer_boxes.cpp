// Boxes as the vendor's structures tell them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/transfer.h"

#include <algorithm>

#include "test/simulator/device/arrays.h"
#include "test/simulator/device/graph.h"

namespace vramscope::simulator {

namespace {

struct Corner {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x_bytes, y, z, pitch, rows;
};

Claim claim_of(CUmemorytype type) {
  if (type == CU_MEMORYTYPE_HOST) return Claim::host;
  return type == CU_MEMORYTYPE_DEVICE ? Claim::device : Claim::any;
}

// Arrays that are not mapped have no bytes to copy.
CUresult place_in_array(const Corner& corner, const Box& box, Side& side) {
  const auto array = arrays().find(corner.array);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  const ArrayLayout& layout = array->layout;
  const auto beyond = [](std::uint64_t from, std::uint64_t count, std::uint64_t end) {
    return from > end || count > end - from;
  };
  if (array->start == 0 || beyond(corner.x_bytes, box.width, layout.row) ||
      beyond(corner.y, box.height, layout.rows) || beyond(corner.z, box.depth, layout.slices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side = {
      .start = array->start + corner.z * layout.slice + corner.y * layout.pitch + corner.x_bytes,
      .pitch = layout.pitch,
      .slice = layout.slice,
      .array = corner.array,
      .x_bytes = corner.x_bytes,
      .y = corner.y,
      .z = corner.z};
  return CUDA_SUCCESS;
}

// Every kind of memory but arrays is an address.
CUresult place(const Corner& corner, const Box& box, Side& side, Claim& claim) {
  if (corner.type == CU_MEMORYTYPE_ARRAY) {
    claim = Claim::array;
    return place_in_array(corner, box, side);
  }
  const Address base =
      corner.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<Address>(corner.host) : corner.device;
  const std::size_t slice = corner.pitch * corner.rows;
  side = {.start = base + corner.z * slice + corner.y * corner.pitch + corner.x_bytes,
          .pitch = corner.pitch,
          .slice = slice};
  claim = claim_of(corner.type);
  return CUDA_SUCCESS;
}

std::size_t or_else(std::size_t given, std::size_t otherwise) {
  return given != 0 ? given : otherwise;
}

CUmemorytype type_of(Claim claim) {
  if (claim == Claim::host) return CU_MEMORYTYPE_HOST;
  if (claim == Claim::array) return CU_MEMORYTYPE_ARRAY;
  return claim == Claim::device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

std::size_t rows_of(const Side& side, const Box& box) {
  return side.pitch == 0 ? box.height : std::max(side.slice / side.pitch, box.height);
}

}  // namespace

// Pitch 0 means rows without gaps.
CUresult read(const CUDA_MEMCPY3D& c, Copy& copy) {
  copy.box = {c.WidthInBytes, c.Height, c.Depth};
  const CUresult result =
      place({c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY, c.dstZ,
             or_else(c.dstPitch, c.WidthInBytes), or_else(c.dstHeight, c.Height)},
            copy.box, copy.to, copy.to_claim);
  if (result != CUDA_SUCCESS) return result;
  return place({c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY, c.srcZ,
                or_else(c.srcPitch, c.WidthInBytes), or_else(c.srcHeight, c.Height)},
               copy.box, copy.from, copy.from_claim);
}

CUresult read(const CUDA_MEMSET_NODE_PARAMS_v2& told, Fill& fill) {
  constexpr std::size_t kMost = std::size_t{1} << 48;  // beyond any device
  const unsigned element = told.elementSize;
  if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
  if (told.width > kMost) return CUDA_ERROR_INVALID_VALUE;
  fill = {.box = {told.width * element, told.height, 1},
          .to = {.start = told.dst, .pitch = told.pitch},
          .value = told.value,
          .element = element};
  return CUDA_SUCCESS;
}

CUgraphNodeParams node_of(const Copy& copy) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_MEMCPY);
  CUDA_MEMCPY3D& c = node.memcpy.copyParams;
  c.srcMemoryType = type_of(copy.from_claim);
  c.srcHost = reinterpret_cast<const void*>(copy.from.start);
  c.srcDevice = copy.from.start;
  c.srcArray = copy.from.array;
  c.srcXInBytes = copy.from.x_bytes;
  c.srcY = copy.from.y;
  c.srcZ = copy.from.z;
  c.srcPitch = copy.from.pitch;
  c.srcHeight = rows_of(copy.from, copy.box);
  c.dstMemoryType = type_of(copy.to_claim);
  c.dstHost = reinterpret_cast<void*>(copy.to.start);
  c.dstDevice = copy.to.start;
  c.dstArray = copy.to.array;
  c.dstXInBytes = copy.to.x_bytes;
  c.dstY = copy.to.y;
  c.dstZ = copy.to.z;
  c.dstPitch = copy.to.pitch;
  c.dstHeight = rows_of(copy.to, copy.box);
  c.WidthInBytes = copy.box.width;
  c.Height = copy.box.height;
  c.Depth = copy.box.depth;
  return node;
}

CUgraphNodeParams node_of(const Fill& fill) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_MEMSET);
  node.memset.dst = fill.to.start;
  node.memset.pitch = fill.to.pitch;
  node.memset.value = fill.value;
  node.memset.elementSize = fill.element;
  node.memset.width = fill.box.width / fill.element;
  node.memset.height = fill.box.height;
  return node;
}

}  // namespace vramscope::simulator
