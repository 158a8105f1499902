// Copies and sets. Under unified addressing the address tells where it is; the direction that a
// program names is checked only for being one.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime.h"

namespace vramscope::simulator::runtime {

namespace {

bool good(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

struct Rows {
  const void* start;
  size_t pitch;
};

CUDA_MEMCPY2D box(Rows to, Rows from, size_t width, size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device_pointer(from.start);
  copy.srcPitch = from.pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = device_pointer(to.start);
  copy.dstPitch = to.pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

// Arrays are not simulated.
cudaError_t box(const cudaMemcpy3DParms* p, CUDA_MEMCPY3D* copy) {
  if (p == nullptr || !good(p->kind)) return cudaErrorInvalidValue;
  if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
  *copy = {};
  copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy->srcDevice = device_pointer(p->srcPtr.ptr);
  copy->srcPitch = p->srcPtr.pitch;
  copy->srcHeight = p->srcPtr.ysize;
  copy->srcXInBytes = p->srcPos.x;
  copy->srcY = p->srcPos.y;
  copy->srcZ = p->srcPos.z;
  copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy->dstDevice = device_pointer(p->dstPtr.ptr);
  copy->dstPitch = p->dstPtr.pitch;
  copy->dstHeight = p->dstPtr.ysize;
  copy->dstXInBytes = p->dstPos.x;
  copy->dstY = p->dstPos.y;
  copy->dstZ = p->dstPos.z;
  copy->WidthInBytes = p->extent.width;
  copy->Height = p->extent.height;
  copy->Depth = p->extent.depth;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (!good(kind)) return cudaErrorInvalidMemcpyDirection;
  return error_of(the_driver().cuMemcpy(device_pointer(to), device_pointer(from), bytes));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!good(kind)) return cudaErrorInvalidMemcpyDirection;
  return error_of(
      the_driver().cuMemcpyAsync(device_pointer(to), device_pointer(from), bytes, stream));
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return runtime::cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                cudaStream_t stream) {
  return runtime::cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  if (!good(kind)) return cudaErrorInvalidMemcpyDirection;
  if (to_pitch < width || from_pitch < width) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = box({to, to_pitch}, {from, from_pitch}, width, height);
  return error_of(the_driver().cuMemcpy2DUnaligned(&copy));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (!good(kind)) return cudaErrorInvalidMemcpyDirection;
  if (to_pitch < width || from_pitch < width) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = box({to, to_pitch}, {from, from_pitch}, width, height);
  return error_of(the_driver().cuMemcpy2DAsync(&copy, stream));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  CUDA_MEMCPY3D copy;
  const cudaError_t wrong = box(parameters, &copy);
  return wrong != cudaSuccess ? wrong : error_of(the_driver().cuMemcpy3D(&copy));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  CUDA_MEMCPY3D copy;
  const cudaError_t wrong = box(parameters, &copy);
  return wrong != cudaSuccess ? wrong : error_of(the_driver().cuMemcpy3DAsync(&copy, stream));
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return error_of(
      the_driver().cuMemsetD8(device_pointer(to), static_cast<unsigned char>(value), bytes));
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return error_of(the_driver().cuMemsetD8Async(device_pointer(to),
                                               static_cast<unsigned char>(value), bytes, stream));
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return error_of(the_driver().cuMemsetD2D8(device_pointer(to), pitch,
                                            static_cast<unsigned char>(value), width, height));
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return error_of(the_driver().cuMemsetD2D8Async(
      device_pointer(to), pitch, static_cast<unsigned char>(value), width, height, stream));
}

// Device variables are registered, but modules are not looked into: they have no address.
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return cudaErrorNotSupported;
}
cudaError_t cudaMemcpyToSymbolAsync(const void*, const void*, size_t, size_t, cudaMemcpyKind,
                                    cudaStream_t) {
  return cudaErrorNotSupported;
}
cudaError_t cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return cudaErrorNotSupported;
}
cudaError_t cudaMemcpyFromSymbolAsync(void*, const void*, size_t, size_t, cudaMemcpyKind,
                                      cudaStream_t) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGetSymbolAddress(void**, const void*) { return cudaErrorNotSupported; }
cudaError_t cudaGetSymbolSize(size_t*, const void*) { return cudaErrorNotSupported; }

}  // namespace vramscope::simulator::runtime
