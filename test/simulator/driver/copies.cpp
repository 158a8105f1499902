// cuMemcpy* and cuMemset*: each entry point is one box.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

Copy line(Address to, Claim to_claim, Address from, Claim from_claim, std::size_t bytes) {
  return {.box = {.width = bytes},
          .to = {.start = to},
          .from = {.start = from},
          .to_claim = to_claim,
          .from_claim = from_claim};
}

CUresult copy_3d(const CUDA_MEMCPY3D* c, CUstream stream, Wait wait) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Copy copy;
  const CUresult result = read(*c, copy);
  return result == CUDA_SUCCESS ? transfer(copy, stream, wait) : result;
}

// Pitch 0 means rows without gaps.
CUresult copy_2d(const CUDA_MEMCPY2D* c, CUstream stream, Wait wait) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D deep = {};
  deep.srcXInBytes = c->srcXInBytes;
  deep.srcY = c->srcY;
  deep.srcMemoryType = c->srcMemoryType;
  deep.srcHost = c->srcHost;
  deep.srcDevice = c->srcDevice;
  deep.srcArray = c->srcArray;
  deep.srcPitch = c->srcPitch != 0 ? c->srcPitch : c->WidthInBytes + c->srcXInBytes;
  deep.dstXInBytes = c->dstXInBytes;
  deep.dstY = c->dstY;
  deep.dstMemoryType = c->dstMemoryType;
  deep.dstHost = c->dstHost;
  deep.dstDevice = c->dstDevice;
  deep.dstArray = c->dstArray;
  deep.dstPitch = c->dstPitch != 0 ? c->dstPitch : c->WidthInBytes + c->dstXInBytes;
  deep.WidthInBytes = c->WidthInBytes;
  deep.Height = c->Height;
  deep.Depth = 1;
  return copy_3d(&deep, stream, wait);
}

// Copies of a batch from this index on have these attributes, up to where the next ones begin.
bool good_attributes(const CUmemcpyAttributes* attributes, const std::size_t* from,
                     std::size_t number, std::size_t count) {
  if (attributes == nullptr || from == nullptr || number == 0 || number > count || from[0] != 0) {
    return false;
  }
  for (std::size_t i = 0; i < number; ++i) {
    if (i > 0 && (from[i] <= from[i - 1] || from[i] >= count)) return false;
    if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
      return false;
    }
  }
  return true;
}

struct Batch {
  const CUdeviceptr* to;
  const CUdeviceptr* from;
  const std::size_t* sizes;
  std::size_t count;
  const CUmemcpyAttributes* attributes;
  const std::size_t* attributes_from;
  std::size_t attribute_count;
};

// One after the other, which is one of the orders that they may have. A capture takes no batch
// (NVIDIA/cuopt#1753), and neither does the legacy stream (cuda.h).
CUresult copy_batch(const Batch& batch, CUstream handle) {
  if (batch.to == nullptr || batch.from == nullptr || batch.sizes == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!good_attributes(batch.attributes, batch.attributes_from, batch.attribute_count,
                       batch.count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult no = refuse_while_capturing(*stream); no != CUDA_SUCCESS) return no;
  std::size_t next = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (next < batch.attribute_count && batch.attributes_from[next] == i) ++next;
    const auto order = batch.attributes[next - 1].srcAccessOrder;
    const bool now = order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    const CUresult result =
        transfer(line(batch.to[i], Claim::any, batch.from[i], Claim::any, batch.sizes[i]), handle,
                 now ? Wait::always : Wait::as_needed);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
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

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t bytes) {
  if (const CUresult no = check_context(to_context); no != CUDA_SUCCESS) return no;
  if (const CUresult no = check_context(from_context); no != CUDA_SUCCESS) return no;
  return transfer(line(to, Claim::device, from, Claim::device, bytes), nullptr, Wait::for_host);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, std::size_t bytes, CUstream stream) {
  if (const CUresult no = check_context(to_context); no != CUDA_SUCCESS) return no;
  if (const CUresult no = check_context(from_context); no != CUDA_SUCCESS) return no;
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

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                               std::size_t count, CUmemcpyAttributes* attributes,
                               std::size_t* attributes_from, std::size_t attribute_count,
                               CUstream stream) {
  return copy_batch({to, from, sizes, count, attributes, attributes_from, attribute_count}, stream);
}

// Which copy failed nobody need say: SIZE_MAX (cuda.h 12.8).
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                            std::size_t count, CUmemcpyAttributes* attributes,
                            std::size_t* attributes_from, std::size_t attribute_count,
                            std::size_t* failed, CUstream stream) {
  const CUresult result =
      copy_batch({to, from, sizes, count, attributes, attributes_from, attribute_count}, stream);
  if (result != CUDA_SUCCESS && failed != nullptr) *failed = SIZE_MAX;
  return result;
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
