// The small runtime: copies and sets. Directions come from the addresses (unified addressing); the
// kind that a program states is checked to be one.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "test/simulator/runtime/arrays.h"

namespace cudart {

namespace {

// What both forms of a copy between boxes of linear memory say alike.
template <class From, class Copy>
void name_linear(const From& from, Copy& copy) {
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device_pointer(from.srcPtr.ptr);
  copy.srcPitch = from.srcPtr.pitch;
  copy.srcHeight = from.srcPtr.ysize;
  copy.srcXInBytes = from.srcPos.x;
  copy.srcY = from.srcPos.y;
  copy.srcZ = from.srcPos.z;
  copy.dstDevice = device_pointer(from.dstPtr.ptr);
  copy.dstPitch = from.dstPtr.pitch;
  copy.dstHeight = from.dstPtr.ysize;
  copy.dstXInBytes = from.dstPos.x;
  copy.dstY = from.dstPos.y;
  copy.dstZ = from.dstPos.z;
  copy.WidthInBytes = from.extent.width;
  copy.Height = from.extent.height;
  copy.Depth = from.extent.depth;
}

// In boxes with an array the program counts elements, the driver bytes (driver_types.h).
cudaError_t name_arrays(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& copy) {
  const cudaArray_t either = from.srcArray != nullptr ? from.srcArray : from.dstArray;
  if (either == nullptr) return cudaSuccess;
  CUDA_ARRAY3D_DESCRIPTOR is = {};
  if (const cudaError_t error = describe(either, is)) return error;
  const std::size_t element = ElementFormat{is.Format, is.NumChannels}.bytes();
  copy.WidthInBytes *= element;
  if (from.srcArray != nullptr) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = handle_of(from.srcArray);
    copy.srcXInBytes *= element;
  }
  if (from.dstArray != nullptr) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = handle_of(from.dstArray);
    copy.dstXInBytes *= element;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t box(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& copy) {
  copy = {};
  name_linear(from, copy);
  return name_arrays(from, copy);
}

namespace runtime {

namespace {

bool is_direction(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D rectangle(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device_pointer(from);
  copy.srcPitch = from_pitch;
  copy.dstDevice = device_pointer(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

// Linear memory between two devices' contexts, which a runtime retains as it names them.
cudaError_t peer_box(const cudaMemcpy3DPeerParms& from, CUDA_MEMCPY3D_PEER& copy) {
  if (from.srcArray != nullptr || from.dstArray != nullptr) return cudaErrorNotSupported;
  copy = {};
  for (const auto& [device, context] :
       {std::pair{from.srcDevice, &copy.srcContext}, std::pair{from.dstDevice, &copy.dstContext}}) {
    const CUresult result = the_driver().cuDevicePrimaryCtxRetain(context, device);
    if (result != CUDA_SUCCESS) return error_of(result);
  }
  name_linear(from, copy);
  return cudaSuccess;
}

unsigned char low_byte(int value) { return static_cast<unsigned char>(value); }

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (!is_direction(kind)) return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return cudaSuccess;
  return error_of(the_driver().cuMemcpy(device_pointer(to), device_pointer(from), bytes));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!is_direction(kind)) return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return cudaSuccess;
  return error_of(
      the_driver().cuMemcpyAsync(device_pointer(to), device_pointer(from), bytes, stream));
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return runtime::cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  return runtime::cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (!is_direction(kind)) return cudaErrorInvalidMemcpyDirection;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = rectangle(to, to_pitch, from, from_pitch, width, height);
  return error_of(the_driver().cuMemcpy2DUnaligned(&copy));
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_direction(kind)) return cudaErrorInvalidMemcpyDirection;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = rectangle(to, to_pitch, from, from_pitch, width, height);
  return error_of(the_driver().cuMemcpy2DAsync(&copy, stream));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  CUDA_MEMCPY3D copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = box(*parameters, copy)) return error;
  return error_of(the_driver().cuMemcpy3D(&copy));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  CUDA_MEMCPY3D copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = box(*parameters, copy)) return error;
  return error_of(the_driver().cuMemcpy3DAsync(&copy, stream));
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  CUDA_MEMCPY3D_PEER copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = peer_box(*parameters, copy)) return error;
  return error_of(the_driver().cuMemcpy3DPeer(&copy));
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  CUDA_MEMCPY3D_PEER copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = peer_box(*parameters, copy)) return error;
  return error_of(the_driver().cuMemcpy3DPeerAsync(&copy, stream));
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  return error_of(the_driver().cuMemsetD8(device_pointer(to), low_byte(value), bytes));
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  return error_of(the_driver().cuMemsetD8Async(device_pointer(to), low_byte(value), bytes, stream));
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  return error_of(
      the_driver().cuMemsetD2D8(device_pointer(to), pitch, low_byte(value), width, height));
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return error_of(the_driver().cuMemsetD2D8Async(device_pointer(to), pitch, low_byte(value), width,
                                                 height, stream));
}

namespace {

// Address of `offset` inside a device variable.
cudaError_t inside(const void* symbol, std::size_t offset, std::size_t bytes, char** address) {
  void* start = nullptr;
  std::size_t size = 0;
  if (const cudaError_t error = runtime::cudaGetSymbolAddress(&start, symbol)) return error;
  if (const cudaError_t error = runtime::cudaGetSymbolSize(&size, symbol)) return error;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *address = static_cast<char*>(start) + offset;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  char* address = nullptr;
  if (const cudaError_t error = inside(symbol, offset, bytes, &address)) return error;
  return runtime::cudaMemcpy(address, from, bytes, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  char* address = nullptr;
  if (const cudaError_t error = inside(symbol, offset, bytes, &address)) return error;
  return runtime::cudaMemcpyAsync(address, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  char* address = nullptr;
  if (const cudaError_t error = inside(symbol, offset, bytes, &address)) return error;
  return runtime::cudaMemcpy(to, address, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  char* address = nullptr;
  if (const cudaError_t error = inside(symbol, offset, bytes, &address)) return error;
  return runtime::cudaMemcpyAsync(to, address, bytes, kind, stream);
}

}  // namespace runtime

}  // namespace cudart
