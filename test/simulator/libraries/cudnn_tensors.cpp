// cuDNN's descriptors of tensors: each keeps what it was given.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/libraries/cudnn_tensors.h"

#include <algorithm>

namespace vramscope::simulator {
namespace {

// cudnnStatus_t
constexpr int kBadParameter = 2000;
constexpr int kNullPointer = 2002;

constexpr int kChannelsLast = 1;  // of cudnnTensorFormat_t

int keep(Opaque* descriptor, const Tensor& tensor) {
  if (descriptor == nullptr) return kNullPointer;
  keep_tensor(*descriptor, tensor);
  return kSuccess;
}

// The second dimension, of channels, varies fastest.
Tensor laid_out(int format, const Tensor& packed_rows) {
  Tensor tensor = packed_rows;
  if (format != kChannelsLast || tensor.rank < 3) return tensor;
  int stride = tensor.lengths[1];
  for (int i = tensor.rank - 1; i > 1; --i) {
    tensor.strides[i] = stride;
    stride *= tensor.lengths[i];
  }
  tensor.strides[1] = 1;
  tensor.strides[0] = stride;
  return tensor;
}

bool good(int type, int rank, const int* lengths) {
  return element_bytes(type) != 0 && rank > 0 && rank <= kMostDimensions && lengths != nullptr &&
         std::all_of(lengths, lengths + rank, [](int length) { return length > 0; });
}

template <typename... Places>
void tell(const int* from, Places*... into) {
  int at = 0;
  ((into == nullptr ? void(++at) : void(*into = from[at++])), ...);
}

}  // namespace

std::size_t element_bytes(int type) {
  switch (type) {
    case 3:   // 8 bits
    case 6:   // without a sign
    case 11:  // a truth value
    case 12:  // 8-bit numbers with fractions
    case 13:
      return 1;
    case 2:  // half
    case 9:  // bfloat16
      return 2;
    case 0:  // float
    case 4:  // 32 bits
    case 5:  // four of 8 bits
    case 7:
      return 4;
    case 1:   // double
    case 10:  // 64 bits
      return 8;
    case 8:  // 32 of 8 bits
      return 32;
    default:
      return 0;
  }
}

Tensor tensor_of(const Opaque& descriptor) {
  Tensor tensor;
  std::memcpy(&tensor, descriptor.content, sizeof tensor);
  return tensor;
}

void keep_tensor(Opaque& descriptor, const Tensor& tensor) {
  std::memcpy(descriptor.content, &tensor, sizeof tensor);
}

Tensor packed(int type, int rank, const int* lengths) {
  Tensor tensor = {.type = type, .rank = rank, .lengths = {}, .strides = {}};
  int stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    tensor.lengths[i] = lengths[i];
    tensor.strides[i] = stride;
    stride *= lengths[i];
  }
  return tensor;
}

}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cudnnSetTensorNdDescriptor(Opaque* descriptor, int type, int rank, const int* lengths,
                               const int* strides) {
  if (strides == nullptr || !good(type, rank, lengths)) return kBadParameter;
  Tensor tensor = packed(type, rank, lengths);
  std::copy_n(strides, rank, tensor.strides);
  return keep(descriptor, tensor);
}

int cudnnSetTensorNdDescriptorEx(Opaque* descriptor, int format, int type, int rank,
                                 const int* lengths) {
  if (!good(type, rank, lengths)) return kBadParameter;
  return keep(descriptor, laid_out(format, packed(type, rank, lengths)));
}

int cudnnSetTensor4dDescriptor(Opaque* descriptor, int format, int type, int n, int c, int h,
                               int w) {
  const int lengths[] = {n, c, h, w};
  return cudnnSetTensorNdDescriptorEx(descriptor, format, type, 4, lengths);
}

int cudnnSetTensor4dDescriptorEx(Opaque* descriptor, int type, int n, int c, int h, int w,
                                 int n_stride, int c_stride, int h_stride, int w_stride) {
  const int lengths[] = {n, c, h, w};
  const int strides[] = {n_stride, c_stride, h_stride, w_stride};
  return cudnnSetTensorNdDescriptor(descriptor, type, 4, lengths, strides);
}

int cudnnGetTensorNdDescriptor(const Opaque* descriptor, int asked, int* type, int* rank,
                               int* lengths, int* strides) {
  if (descriptor == nullptr) return kNullPointer;
  const Tensor tensor = tensor_of(*descriptor);
  const int given = std::clamp(asked, 0, tensor.rank);
  if (type != nullptr) *type = tensor.type;
  if (rank != nullptr) *rank = tensor.rank;
  if (lengths != nullptr) std::copy_n(tensor.lengths, given, lengths);
  if (strides != nullptr) std::copy_n(tensor.strides, given, strides);
  return kSuccess;
}

int cudnnGetTensor4dDescriptor(const Opaque* descriptor, int* type, int* n, int* c, int* h, int* w,
                               int* n_stride, int* c_stride, int* h_stride, int* w_stride) {
  if (descriptor == nullptr) return kNullPointer;
  const Tensor tensor = tensor_of(*descriptor);
  if (type != nullptr) *type = tensor.type;
  tell(tensor.lengths, n, c, h, w);
  tell(tensor.strides, n_stride, c_stride, h_stride, w_stride);
  return kSuccess;
}

int cudnnGetTensorSizeInBytes(const Opaque* descriptor, std::size_t* bytes) {
  if (descriptor == nullptr) return kNullPointer;
  const Tensor tensor = tensor_of(*descriptor);
  std::size_t last = tensor.rank == 0 ? 0 : 1;
  for (int i = 0; i < tensor.rank; ++i)
    last += static_cast<std::size_t>(tensor.lengths[i] - 1) *
            static_cast<std::size_t>(tensor.strides[i]);
  return write_result(bytes, last * element_bytes(tensor.type), kNullPointer);
}

}  // extern "C"
#pragma GCC visibility pop
