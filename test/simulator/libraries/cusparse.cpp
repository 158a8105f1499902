// The stand-in for cuSPARSE: handles, the descriptors of its older calls, and results that are
// written where the handle's pointer mode says. cusparse_matrices.cpp has the rest.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cusparseStatus_t
constexpr int kNotInitialized = 1;
constexpr int kAllocationFailed = 2;
constexpr int kInvalidValue = 3;
constexpr int kVersion = VRAMSCOPE_LIBRARY_VERSION;

constexpr int kOnDevice = 1;  // of cusparsePointerMode_t

struct Handle {
  Opaque head;
  cudaStream_t stream = nullptr;
  int pointer_mode = 0;
};

struct Description {
  int type = 0;
  int fill = 0;
  int diagonal = 0;
  int base = 0;
};

std::atomic_flag said_modelled;

int write_bytes(const Handle* handle, void* into, int byte, std::size_t bytes) {
  if (handle == nullptr) return kNotInitialized;
  if (into == nullptr) return kInvalidValue;
  if (handle->pointer_mode == kOnDevice)
    cudaMemsetAsync(into, byte, bytes, handle->stream);
  else
    std::memset(into, byte, bytes);
  return kSuccess;
}

int set(Description* description, int Description::*what, int value) {
  if (description == nullptr) return kInvalidValue;
  description->*what = value;
  return kSuccess;
}

int get(const Description* description, int Description::*what) {
  return description == nullptr ? 0 : description->*what;
}

const char* name_of(int status) {
  switch (status) {
    case kSuccess:
      return "CUSPARSE_STATUS_SUCCESS";
    case 10:
      return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default:
      return "CUSPARSE_STATUS";
  }
}

}  // namespace

int write_by_mode(const void* handle, int* into, int byte) {
  return write_bytes(static_cast<const Handle*>(handle), into, byte, sizeof *into);
}

}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cusparseCreate(Handle** made) {
  if (made == nullptr) return kInvalidValue;
  say_modelled(said_modelled,
               "cuSPARSE is a stand-in on the simulated device: its memory is modelled (no call "
               "needs a buffer, a product has as many entries as its larger factor), its kernels "
               "are not executed");
  *made = new (std::nothrow) Handle;
  return *made == nullptr ? kAllocationFailed : kSuccess;
}
int cusparseDestroy(const Handle* handle) {
  if (handle == nullptr) return kNotInitialized;
  delete handle;
  return kSuccess;
}

int cusparseSetStream(Handle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  handle->stream = stream;
  return kSuccess;
}
int cusparseGetStream(const Handle* handle, cudaStream_t* stream) {
  if (handle == nullptr) return kNotInitialized;
  return write_result(stream, handle->stream, kInvalidValue);
}
int cusparseSetPointerMode(Handle* handle, int mode) {
  if (handle == nullptr) return kNotInitialized;
  handle->pointer_mode = mode;
  return kSuccess;
}
int cusparseGetPointerMode(const Handle* handle, int* mode) {
  if (handle == nullptr) return kNotInitialized;
  return write_result(mode, handle->pointer_mode, kInvalidValue);
}

int cusparseGetVersion(const Handle* handle, int* version) {
  if (handle == nullptr) return kNotInitialized;
  return write_result(version, kVersion, kInvalidValue);
}
int cusparseGetProperty(int which, int* value) {
  if (which < 0 || which > 2) return kInvalidValue;
  constexpr int kParts[] = {kVersion / 1000, kVersion % 1000 / 100, kVersion % 100};
  return write_result(value, kParts[which], kInvalidValue);
}
const char* cusparseGetErrorName(int status) { return name_of(status); }
const char* cusparseGetErrorString(int status) { return name_of(status); }

int cusparseCreateMatDescr(Description** made) {
  if (made == nullptr) return kInvalidValue;
  *made = new (std::nothrow) Description;
  return *made == nullptr ? kAllocationFailed : kSuccess;
}
int cusparseDestroyMatDescr(const Description* description) {
  delete description;
  return kSuccess;
}
int cusparseSetMatType(Description* in, int type) { return set(in, &Description::type, type); }
int cusparseGetMatType(const Description* of) { return get(of, &Description::type); }
int cusparseSetMatFillMode(Description* in, int fill) { return set(in, &Description::fill, fill); }
int cusparseGetMatFillMode(const Description* of) { return get(of, &Description::fill); }
int cusparseSetMatDiagType(Description* in, int diagonal) {
  return set(in, &Description::diagonal, diagonal);
}
int cusparseGetMatDiagType(const Description* of) { return get(of, &Description::diagonal); }
int cusparseSetMatIndexBase(Description* in, int base) { return set(in, &Description::base, base); }
int cusparseGetMatIndexBase(const Description* of) { return get(of, &Description::base); }

// A sum has as many entries as the larger of both.
int cusparseXcsrgeam2Nnz(const Handle* handle, int, int, const void*, int entries, const int*,
                         const int*, const void*, int others, const int*, const int*, const void*,
                         int*, int* sum) {
  if (handle == nullptr) return kNotInitialized;
  const int more = std::max(entries, others);
  if (handle->pointer_mode != kOnDevice) return write_result(sum, more, kInvalidValue);
  cudaMemcpyAsync(sum, &more, sizeof more, cudaMemcpyHostToDevice, handle->stream);
  return kSuccess;
}

int cusparseSpVV(const Handle* handle, int, const void*, const void*, void* product, int type) {
  return write_bytes(handle, product, 0, result_bytes(type));
}

}  // extern "C"
#pragma GCC visibility pop
