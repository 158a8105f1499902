// cuMemcpy* and cuMemset*: each entry point is one box.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "test/simulator/driver.h"
#include "test/simulator/transfer.h"

namespace vramscope::simulator {

namespace {

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Copy line(Address to, Claim to_claim, Address from, Claim from_claim, std::size_t bytes) {
  return {.box = {.width = bytes},
          .to = {.start = to},
          .from = {.start = from},
          .to_claim = to_claim,
          .from_claim = from_claim};
}

struct Corner {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::size_t x_bytes, y, z, pitch, rows;
};

// Arrays are not simulated; every other kind of memory is an address.
std::optional<Side> side_of(const Corner& corner) {
  if (corner.type == CU_MEMORYTYPE_ARRAY) return std::nullopt;
  const Address base = corner.type == CU_MEMORYTYPE_HOST ? address_of(corner.host) : corner.device;
  const std::size_t slice = corner.pitch * corner.rows;
  return Side{base + corner.z * slice + corner.y * corner.pitch + corner.x_bytes, corner.pitch,
              slice};
}

Claim claim_of(CUmemorytype type) {
  if (type == CU_MEMORYTYPE_HOST) return Claim::host;
  return type == CU_MEMORYTYPE_DEVICE ? Claim::device : Claim::any;
}

CUresult box_copy(const Corner& to, const Corner& from, Box box, CUstream stream, Wait wait) {
  const auto to_side = side_of(to);
  const auto from_side = side_of(from);
  if (!to_side || !from_side) return CUDA_ERROR_NOT_SUPPORTED;
  return transfer(Copy{box, *to_side, *from_side, claim_of(to.type), claim_of(from.type)}, stream,
                  wait);
}

// Pitch 0 means rows without gaps.
CUresult copy_2d(const CUDA_MEMCPY2D* c, CUstream stream, Wait wait) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t to_pitch = c->dstPitch != 0 ? c->dstPitch : c->WidthInBytes + c->dstXInBytes;
  const std::size_t from_pitch = c->srcPitch != 0 ? c->srcPitch : c->WidthInBytes + c->srcXInBytes;
  return box_copy(
      {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, 0, to_pitch, c->Height},
      {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, 0, from_pitch,
       c->Height},
      {c->WidthInBytes, c->Height, 1}, stream, wait);
}

CUresult copy_3d(const CUDA_MEMCPY3D* c, CUstream stream, Wait wait) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto or_else = [](std::size_t given, std::size_t otherwise) {
    return given != 0 ? given : otherwise;
  };
  return box_copy({c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstZ,
                   or_else(c->dstPitch, c->WidthInBytes), or_else(c->dstHeight, c->Height)},
                  {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcZ,
                   or_else(c->srcPitch, c->WidthInBytes), or_else(c->srcHeight, c->Height)},
                  {c->WidthInBytes, c->Height, c->Depth}, stream, wait);
}

CUresult fill(CUdeviceptr to, std::uint32_t value, unsigned element, std::size_t count,
              CUstream stream, Wait wait) {
  if (count > (std::size_t{1} << 48)) return CUDA_ERROR_INVALID_VALUE;  // beyond any device
  return transfer(Fill{.box = {.width = count * element},
                       .to = {.start = to},
                       .value = value,
                       .element = element},
                  stream, wait);
}

struct Rows {
  std::size_t pitch, width, height;
};

CUresult fill_2d(CUdeviceptr to, Rows rows, std::uint32_t value, unsigned element, CUstream stream,
                 Wait wait) {
  return transfer(Fill{.box = {rows.width * element, rows.height, 1},
                       .to = {.start = to, .pitch = rows.pitch},
                       .value = value,
                       .element = element},
                  stream, wait);
}

}  // namespace

namespace body {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return transfer(line(to, Claim::any, from, Claim::any, bytes), nullptr, Wait::for_host);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return transfer(line(to, Claim::any, from, Claim::any, bytes), stream, Wait::as_needed);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t bytes) {
  return transfer(line(to, Claim::device, from, Claim::device, bytes), nullptr, Wait::for_host);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext,
                           std::size_t bytes, CUstream stream) {
  return transfer(line(to, Claim::device, from, Claim::device, bytes), stream, Wait::as_needed);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return transfer(line(to, Claim::device, address_of(from), Claim::host, bytes), nullptr,
                  Wait::always);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return transfer(line(address_of(to), Claim::host, from, Claim::device, bytes), nullptr,
                  Wait::always);
}

// Between devices no call waits for the host (cuda.h, API synchronization behavior).
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return transfer(line(to, Claim::device, from, Claim::device, bytes), nullptr, Wait::for_host);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                              CUstream stream) {
  return transfer(line(to, Claim::device, address_of(from), Claim::host, bytes), stream,
                  Wait::as_needed);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return transfer(line(address_of(to), Claim::host, from, Claim::device, bytes), stream,
                  Wait::as_needed);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  return transfer(line(to, Claim::device, from, Claim::device, bytes), stream, Wait::as_needed);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_2d(copy, nullptr, Wait::for_host); }

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return copy_2d(copy, nullptr, Wait::for_host);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_2d(copy, stream, Wait::as_needed);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_3d(copy, nullptr, Wait::for_host); }

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy_3d(copy, stream, Wait::as_needed);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill(to, value, 1, count, nullptr, Wait::for_host);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill(to, value, 2, count, nullptr, Wait::for_host);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return fill(to, value, 4, count, nullptr, Wait::for_host);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream, Wait::as_needed);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                          CUstream stream) {
  return fill(to, value, 2, count, stream, Wait::as_needed);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(to, value, 4, count, stream, Wait::as_needed);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                         std::size_t height) {
  return fill_2d(to, {pitch, width, height}, value, 1, nullptr, Wait::for_host);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, std::size_t pitch, unsigned short value,
                          std::size_t width, std::size_t height) {
  return fill_2d(to, {pitch, width, height}, value, 2, nullptr, Wait::for_host);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height) {
  return fill_2d(to, {pitch, width, height}, value, 4, nullptr, Wait::for_host);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                           std::size_t width, std::size_t height, CUstream stream) {
  return fill_2d(to, {pitch, width, height}, value, 1, stream, Wait::as_needed);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value,
                            std::size_t width, std::size_t height, CUstream stream) {
  return fill_2d(to, {pitch, width, height}, value, 2, stream, Wait::as_needed);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return fill_2d(to, {pitch, width, height}, value, 4, stream, Wait::as_needed);
}

}  // namespace body

}  // namespace vramscope::simulator
