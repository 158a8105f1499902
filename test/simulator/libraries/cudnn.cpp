// The stand-in for cuDNN: handles and descriptors of its older calls. cudnn_graph.cpp has the rest.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cudnnStatus_t
constexpr int kNotInitialized = 1001;
constexpr int kNullPointer = 2002;
constexpr int kBadParameter = 2000;
constexpr int kInternalError = 4000;
constexpr int kDeviceAllocationFailed = 4004;

constexpr std::size_t kVersion = VRAMSCOPE_LIBRARY_VERSION;
constexpr int kVersionParts[] = {kVersion / 10000, kVersion % 10000 / 100, kVersion % 100};

// What an H200 showed for each handle (cuDNN 9 under PyTorch 2.11); the documentation has no
// figure.
constexpr std::size_t kDeviceBytes[] = {25344, 4};
constexpr std::size_t kPinnedBytes = 4;

struct Handle {
  void* device[2] = {};
  void* pinned = nullptr;
  cudaStream_t stream = nullptr;
};

std::atomic_flag said_modelled;

void give_back(Handle* handle) {
  for (void* block : handle->device) cudaFree(block);
  cudaFreeHost(handle->pinned);
  delete handle;
}

int make(void** made) { return make_opaque(made, kNullPointer, kInternalError); }

// The rule for what NVIDIA does not document: an algorithm needs no memory beside its tensors.
int no_bytes(std::size_t* bytes) { return write_result(bytes, std::size_t{0}, kNullPointer); }

}  // namespace

int enqueue_for(const void* handle) {
  if (handle == nullptr) return kNotInitialized;
  enqueue_on(static_cast<const Handle*>(handle)->stream);
  return kSuccess;
}

}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cudnnCreate(Handle** made) {
  if (made == nullptr) return kNullPointer;
  say_modelled(
      said_modelled,
      "cuDNN is a stand-in on the simulated device: its memory is modelled (25 KiB a handle, no "
      "workspaces but 256 bytes for attention), its kernels are not executed");
  auto* handle = new (std::nothrow) Handle;
  if (handle == nullptr) return kInternalError;
  const bool has_room = cudaMalloc(&handle->device[0], kDeviceBytes[0]) == cudaSuccess &&
                        cudaMalloc(&handle->device[1], kDeviceBytes[1]) == cudaSuccess &&
                        cudaMallocHost(&handle->pinned, kPinnedBytes) == cudaSuccess;
  if (!has_room) {
    give_back(handle);
    return kDeviceAllocationFailed;
  }
  *made = handle;
  return kSuccess;
}

int cudnnDestroy(Handle* handle) {
  if (handle == nullptr) return kNotInitialized;
  cudaDeviceSynchronize();
  give_back(handle);
  return kSuccess;
}

int cudnnSetStream(Handle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  handle->stream = stream;
  return kSuccess;
}

int cudnnGetStream(Handle* handle, cudaStream_t* stream) {
  if (handle == nullptr) return kNotInitialized;
  return write_result(stream, handle->stream, kNullPointer);
}

std::size_t cudnnGetVersion() { return kVersion; }
std::size_t cudnnGetMaxDeviceVersion() { return kVersion; }
std::size_t cudnnGetCudartVersion() { return VRAMSCOPE_CUDART_VERSION; }

int cudnnGetProperty(int which, int* value) {
  if (value == nullptr) return kNullPointer;
  if (which < 0 || which > 2) return kBadParameter;
  *value = kVersionParts[which];
  return kSuccess;
}

const char* cudnnGetErrorString(int status) {
  switch (status) {
    case kSuccess:
      return "CUDNN_STATUS_SUCCESS";
    case 3000:
      return "CUDNN_STATUS_NOT_SUPPORTED: the simulated device does not model this call";
    default:
      return "CUDNN_STATUS";
  }
}

void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  if (text != nullptr && bytes != 0) *text = '\0';
}

#define DESCRIPTOR(kind)                                    \
  int cudnnCreate##kind(void** made) { return make(made); } \
  int cudnnDestroy##kind(Opaque* made) { return unmake_opaque(made); }
DESCRIPTOR(ActivationDescriptor)
DESCRIPTOR(AttnDescriptor)
DESCRIPTOR(CTCLossDescriptor)
DESCRIPTOR(ConvolutionDescriptor)
DESCRIPTOR(DropoutDescriptor)
DESCRIPTOR(FilterDescriptor)
DESCRIPTOR(LRNDescriptor)
DESCRIPTOR(OpTensorDescriptor)
DESCRIPTOR(PoolingDescriptor)
DESCRIPTOR(RNNDataDescriptor)
DESCRIPTOR(RNNDescriptor)
DESCRIPTOR(ReduceTensorDescriptor)
DESCRIPTOR(SeqDataDescriptor)
DESCRIPTOR(SpatialTransformerDescriptor)
DESCRIPTOR(TensorDescriptor)
DESCRIPTOR(TensorTransformDescriptor)
#undef DESCRIPTOR

using Any = const void*;
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Any, int, int, Any, Any, Any, Any, Any,
                                                             std::size_t* bytes) {
  return no_bytes(bytes);
}
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(Any, int, int, Any, Any, Any, Any, Any, Any,
                                                      Any, std::size_t* bytes) {
  return no_bytes(bytes);
}
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Any, int, int, Any, Any,
                                                         std::size_t* bytes) {
  return no_bytes(bytes);
}

}  // extern "C"
#pragma GCC visibility pop
