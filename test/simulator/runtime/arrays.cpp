// The small runtime: arrays, mipmapped arrays and copies of rectangles with them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/arrays.h"

#include <array>

namespace cudart {

namespace {

// By kind (signed, unsigned, float) and width of 8, 16 and 32 bits; 0: there is none.
constexpr std::array<std::array<int, 3>, 3> kFormats = {
    {{CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
     {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
     {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT}}};
constexpr std::array<int, 3> kBits = {8, 16, 32};

// Kind and width of a format, as places in the table above.
bool place_of(CUarray_format format, std::size_t& kind, std::size_t& width) {
  for (kind = 0; kind < kFormats.size(); ++kind) {
    for (width = 0; width < kBits.size(); ++width) {
      if (kFormats[kind][width] == static_cast<int>(format)) return true;
    }
  }
  return false;
}

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const ElementFormat& element, cudaExtent extent,
                                      unsigned flags) {
  // The flags of the runtime are the driver's (driver_types.h).
  return {extent.width, extent.height, extent.depth, element.format, element.channels, flags};
}

}  // namespace

std::size_t ElementFormat::bytes() const {
  std::size_t kind = 0, width = 0;
  return place_of(format, kind, width) ? channels * static_cast<std::size_t>(kBits[width]) / 8 : 1;
}

bool read(const cudaChannelFormatDesc& from, ElementFormat& to) {
  const std::array<int, 4> bits = {from.x, from.y, from.z, from.w};
  unsigned channels = 0;
  while (channels < bits.size() && bits[channels] != 0) ++channels;
  for (unsigned i = 0; i < bits.size(); ++i) {
    if (bits[i] != (i < channels ? from.x : 0)) return false;
  }
  if (channels == 0 || channels == 3 || from.f < 0 || from.f > cudaChannelFormatKindFloat) {
    return false;
  }
  for (std::size_t width = 0; width < kBits.size(); ++width) {
    const int format = kFormats[static_cast<std::size_t>(from.f)][width];
    if (kBits[width] != from.x || format == 0) continue;
    to = {static_cast<CUarray_format>(format), channels};
    return true;
  }
  return false;
}

cudaChannelFormatDesc described(const ElementFormat& element) {
  std::size_t kind = 0, width = 0;
  if (!place_of(element.format, kind, width)) return {0, 0, 0, 0, cudaChannelFormatKindNone};
  const auto bits = [&](unsigned channel) { return channel < element.channels ? kBits[width] : 0; };
  return {bits(0), bits(1), bits(2), bits(3), static_cast<cudaChannelFormatKind>(kind)};
}

cudaError_t describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return error_of(the_driver().cuArray3DGetDescriptor(&descriptor, handle_of(array)));
}

namespace runtime {

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* elements,
                              cudaExtent extent, unsigned flags) {
  ElementFormat element;
  if (array == nullptr || elements == nullptr) return cudaErrorInvalidValue;
  if (!read(*elements, element)) return cudaErrorInvalidChannelDescriptor;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(element, extent, flags);
  return error_of(the_driver().cuArray3DCreate(reinterpret_cast<CUarray*>(array), &descriptor));
}

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* elements,
                            std::size_t width, std::size_t height, unsigned flags) {
  return runtime::cudaMalloc3DArray(array, elements, {width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return array == nullptr ? cudaSuccess : error_of(the_driver().cuArrayDestroy(handle_of(array)));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const cudaChannelFormatDesc* elements, cudaExtent extent,
                                     unsigned levels, unsigned flags) {
  ElementFormat element;
  if (array == nullptr || elements == nullptr) return cudaErrorInvalidValue;
  if (!read(*elements, element)) return cudaErrorInvalidChannelDescriptor;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(element, extent, flags);
  return error_of(the_driver().cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(array),
                                                      &descriptor, levels));
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array,
                                       unsigned number) {
  const auto whole = reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(array));
  return error_of(
      the_driver().cuMipmappedArrayGetLevel(reinterpret_cast<CUarray*>(level), whole, number));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  if (array == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(array)));
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* elements, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  CUDA_ARRAY3D_DESCRIPTOR is = {};
  if (const cudaError_t error = describe(array, is)) return error;
  if (elements != nullptr) *elements = described({is.Format, is.NumChannels});
  if (extent != nullptr) *extent = {is.Width, is.Height, is.Depth};
  if (flags != nullptr) *flags = is.Flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* elements, cudaArray_const_t array) {
  if (elements == nullptr) return cudaErrorInvalidValue;
  return runtime::cudaArrayGetInfo(elements, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

namespace {

CUDA_MEMCPY2D to_array(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                       std::size_t pitch, std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device_pointer(from);
  copy.srcPitch = pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = handle_of(to);
  copy.dstXInBytes = x;
  copy.dstY = y;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

CUDA_MEMCPY2D from_array(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x,
                         std::size_t y, std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = handle_of(from);
  copy.srcXInBytes = x;
  copy.srcY = y;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = device_pointer(to);
  copy.dstPitch = pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                std::size_t pitch, std::size_t width, std::size_t height,
                                cudaMemcpyKind) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = to_array(to, x, y, from, pitch, width, height);
  return error_of(the_driver().cuMemcpy2DUnaligned(&copy));
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                     std::size_t pitch, std::size_t width, std::size_t height,
                                     cudaMemcpyKind, cudaStream_t stream) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = to_array(to, x, y, from, pitch, width, height);
  return error_of(the_driver().cuMemcpy2DAsync(&copy, stream));
}

cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from,
                                  std::size_t x, std::size_t y, std::size_t width,
                                  std::size_t height, cudaMemcpyKind) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = from_array(to, pitch, from, x, y, width, height);
  return error_of(the_driver().cuMemcpy2DUnaligned(&copy));
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, cudaArray_const_t from,
                                       std::size_t x, std::size_t y, std::size_t width,
                                       std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = from_array(to, pitch, from, x, y, width, height);
  return error_of(the_driver().cuMemcpy2DAsync(&copy, stream));
}

namespace {

// A line of bytes in an array: a piece of one row, or whole rows.
cudaError_t fold(cudaArray_const_t array, std::size_t x, std::size_t bytes, std::size_t& width) {
  CUDA_ARRAY3D_DESCRIPTOR is = {};
  if (const cudaError_t error = describe(array, is)) return error;
  const std::size_t row = is.Width * ElementFormat{is.Format, is.NumChannels}.bytes();
  width = bytes;
  if (x < row && bytes <= row - x) return cudaSuccess;
  if (x != 0 || bytes % row != 0) return cudaErrorNotSupported;
  width = row;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                              std::size_t bytes, cudaMemcpyKind kind) {
  std::size_t width = 0;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = fold(to, x, bytes, width)) return error;
  return runtime::cudaMemcpy2DToArray(to, x, y, from, width, width, bytes / width, kind);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                   std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  std::size_t width = 0;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = fold(to, x, bytes, width)) return error;
  return runtime::cudaMemcpy2DToArrayAsync(to, x, y, from, width, width, bytes / width, kind,
                                           stream);
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                std::size_t bytes, cudaMemcpyKind kind) {
  std::size_t width = 0;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = fold(from, x, bytes, width)) return error;
  return runtime::cudaMemcpy2DFromArray(to, width, from, x, y, width, bytes / width, kind);
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, std::size_t x, std::size_t y,
                                     std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  std::size_t width = 0;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = fold(from, x, bytes, width)) return error;
  return runtime::cudaMemcpy2DFromArrayAsync(to, width, from, x, y, width, bytes / width, kind,
                                             stream);
}

}  // namespace runtime

}  // namespace cudart
