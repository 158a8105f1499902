// cuMemcpy* that name arrays, and boxes between contexts.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/arrays.h"
#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

// One end of a line of bytes: a piece of an array, or an address.
struct End {
  CUmemorytype type;
  CUarray array = nullptr;
  std::size_t offset = 0;
  const void* host = nullptr;
  CUdeviceptr device = 0;
};

End in(CUarray array, std::size_t offset) {
  return {.type = CU_MEMORYTYPE_ARRAY, .array = array, .offset = offset};
}
End at(const void* host) { return {.type = CU_MEMORYTYPE_HOST, .host = host}; }
End at(CUdeviceptr device) { return {.type = CU_MEMORYTYPE_DEVICE, .device = device}; }

// In an array bytes run from row to row: a line is one piece of a row, or whole rows.
CUresult fold(const End& end, std::size_t bytes, std::size_t* width) {
  if (end.type != CU_MEMORYTYPE_ARRAY) return CUDA_SUCCESS;
  const auto array = arrays().find(end.array);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  const std::uint64_t row = array->layout.row;
  if (end.offset % row + bytes <= row) return CUDA_SUCCESS;
  if (end.offset % row != 0 || bytes % row != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (*width != bytes && *width != row) return CUDA_ERROR_NOT_SUPPORTED;
  *width = row;
  return CUDA_SUCCESS;
}

std::size_t row_of(const End& end) {
  const auto array = arrays().find(end.array);
  return array ? array->layout.row : 1;
}

CUresult line(const End& to, const End& from, std::size_t bytes, CUstream stream, Wait wait) {
  if (bytes == 0) return CUDA_SUCCESS;
  std::size_t width = bytes;
  if (const CUresult no = fold(to, bytes, &width); no != CUDA_SUCCESS) return no;
  if (const CUresult no = fold(from, bytes, &width); no != CUDA_SUCCESS) return no;
  CUDA_MEMCPY3D c = {};
  c.dstMemoryType = to.type;
  c.dstArray = to.array;
  c.dstHost = const_cast<void*>(to.host);
  c.dstDevice = to.device;
  c.dstXInBytes = to.offset % row_of(to);
  c.dstY = to.offset / row_of(to);
  c.srcMemoryType = from.type;
  c.srcArray = from.array;
  c.srcHost = from.host;
  c.srcDevice = from.device;
  c.srcXInBytes = from.offset % row_of(from);
  c.srcY = from.offset / row_of(from);
  c.WidthInBytes = width;
  c.Height = bytes / width;
  c.Depth = 1;
  Copy copy;
  const CUresult result = read(c, copy);
  return result == CUDA_SUCCESS ? transfer(copy, stream, wait) : result;
}

CUresult peer_box(const CUDA_MEMCPY3D_PEER* p, CUstream stream, Wait wait) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D c = {
      p->srcXInBytes,   p->srcY,        p->srcZ,         p->srcLOD,   p->srcMemoryType,
      p->srcHost,       p->srcDevice,   p->srcArray,     nullptr,     p->srcPitch,
      p->srcHeight,     p->dstXInBytes, p->dstY,         p->dstZ,     p->dstLOD,
      p->dstMemoryType, p->dstHost,     p->dstDevice,    p->dstArray, nullptr,
      p->dstPitch,      p->dstHeight,   p->WidthInBytes, p->Height,   p->Depth};
  Copy copy;
  const CUresult result = read(c, copy);
  return result == CUDA_SUCCESS ? transfer(copy, stream, wait) : result;
}

}  // namespace

namespace body {

CUresult cuMemcpyAtoA_v2(CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                         std::size_t bytes) {
  return line(in(to, to_offset), in(from, from_offset), bytes, nullptr, Wait::for_host);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes) {
  return line(at(to), in(from, offset), bytes, nullptr, Wait::for_host);
}
CUresult cuMemcpyDtoA_v2(CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes) {
  return line(in(to, offset), at(from), bytes, nullptr, Wait::for_host);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes) {
  return line(at(to), in(from, offset), bytes, nullptr, Wait::always);
}
CUresult cuMemcpyHtoA_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes) {
  return line(in(to, offset), at(from), bytes, nullptr, Wait::always);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes,
                              CUstream stream) {
  return line(at(to), in(from, offset), bytes, stream, Wait::as_needed);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes,
                              CUstream stream) {
  return line(in(to, offset), at(from), bytes, stream, Wait::as_needed);
}

// The first generation, where it names no device address.
CUresult cuMemcpyAtoA(CUarray to, unsigned to_offset, CUarray from, unsigned from_offset,
                      unsigned bytes) {
  return body::cuMemcpyAtoA_v2(to, to_offset, from, from_offset, bytes);
}
CUresult cuMemcpyAtoH(void* to, CUarray from, unsigned offset, unsigned bytes) {
  return body::cuMemcpyAtoH_v2(to, from, offset, bytes);
}
CUresult cuMemcpyHtoA(CUarray to, unsigned offset, const void* from, unsigned bytes) {
  return body::cuMemcpyHtoA_v2(to, offset, from, bytes);
}
CUresult cuMemcpyAtoHAsync(void* to, CUarray from, unsigned offset, unsigned bytes,
                           CUstream stream) {
  return body::cuMemcpyAtoHAsync_v2(to, from, offset, bytes, stream);
}
CUresult cuMemcpyHtoAAsync(CUarray to, unsigned offset, const void* from, unsigned bytes,
                           CUstream stream) {
  return body::cuMemcpyHtoAAsync_v2(to, offset, from, bytes, stream);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return peer_box(copy, nullptr, Wait::for_host);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return peer_box(copy, stream, Wait::as_needed);
}

}  // namespace body

}  // namespace vramscope::simulator
