// The stand-in for cuBLAS: handles, and the workspace that each takes.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cublasStatus_t
constexpr int kNotInitialized = 1;
constexpr int kAllocationFailed = 3;
constexpr int kInvalidValue = 7;
constexpr int kVersion = VRAMSCOPE_LIBRARY_VERSION;

struct Handle {
  Opaque head;  // a handle is one of cuBLASLt as well, whose calls do not look into it
  void* own = nullptr;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
  int pointer_mode = 0;
  int atomics_mode = 0;
  int math_mode = 0;
  int multiprocessors = 0;
};

// CUBLAS_WORKSPACE_CONFIG, as NVIDIA documents it: ":KIB:COUNT", repeated. 0: not set, or not so.
std::size_t configured_workspace() {
  const char* text = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  std::size_t sum = 0;
  while (text != nullptr && *text == ':') {
    char* end = nullptr;
    const auto kib = std::strtoull(text + 1, &end, 10);
    if (*end != ':') return 0;
    const auto count = std::strtoull(end + 1, &end, 10);
    sum += kib * count << 10;
    text = end;
  }
  return sum;
}

// What an H200 took for each handle besides its workspace.
constexpr std::size_t kHandleBytes = 1024;

// NVIDIA documents 32 MiB for compute capability 9.0, which an H200 took for each handle. Other
// devices get 4 MiB; what newer ones take is not known to us.
std::size_t workspace_bytes() {
  if (const std::size_t configured = configured_workspace()) return configured;
  int device = 0;
  int major = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major == 9 ? 32U << 20 : 4U << 20;
}

std::atomic_flag said_modelled;

void give_back(Handle* handle) {
  cudaFree(handle->workspace);
  cudaFree(handle->own);
  delete handle;
}

template <typename Value>
int answer(const Value* held, Value* asked) {
  if (held == nullptr) return kNotInitialized;
  if (asked == nullptr) return kInvalidValue;
  *asked = *held;
  return kSuccess;
}

template <typename Value>
int keep(Handle* handle, Value Handle::*what, Value value) {
  if (handle == nullptr) return kNotInitialized;
  handle->*what = value;
  return kSuccess;
}

const char* name_of(int status) {
  return status == kSuccess ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS";
}

}  // namespace

bool reads_on_host(const void* handle) {
  return handle != nullptr && static_cast<const Handle*>(handle)->pointer_mode == 0;
}

int write_zero_on_host(const void* handle, void* into, int type) {
  if (into != nullptr && reads_on_host(handle)) std::memset(into, 0, result_bytes(type));
  return kSuccess;
}

int enqueue_for(const void* handle) {
  if (handle == nullptr) return kNotInitialized;
  enqueue_on(static_cast<const Handle*>(handle)->stream);
  return kSuccess;
}

int write_solved(const void* handle, int* info, std::int64_t problems) {
  if (handle == nullptr) return kNotInitialized;
  return write_solved_on(static_cast<const Handle*>(handle)->stream, info, problems);
}

}  // namespace vramscope::simulator

using vramscope::simulator::Handle;
using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cublasCreate_v2(Handle** made) {
  if (made == nullptr) return kInvalidValue;
  say_modelled(
      said_modelled,
      "cuBLAS is a stand-in on the simulated device: its memory is modelled (32 MiB a handle on "
      "compute capability 9.0, else 4 MiB, or CUBLAS_WORKSPACE_CONFIG), its kernels "
      "are not executed");
  auto* handle = new (std::nothrow) Handle;
  if (handle == nullptr) return kAllocationFailed;
  const std::size_t bytes = workspace_bytes();
  if (cudaMalloc(&handle->own, kHandleBytes) != cudaSuccess ||
      cudaMalloc(&handle->workspace, bytes) != cudaSuccess) {
    give_back(handle);
    return kAllocationFailed;
  }
  *made = handle;
  return kSuccess;
}

// It waits for the device, as documented.
int cublasDestroy_v2(Handle* handle) {
  if (handle == nullptr) return kNotInitialized;
  cudaDeviceSynchronize();
  give_back(handle);
  return kSuccess;
}

int cublasSetStream_v2(Handle* handle, cudaStream_t stream) {
  return keep(handle, &Handle::stream, stream);
}
int cublasGetStream_v2(Handle* handle, cudaStream_t* stream) {
  return answer(handle == nullptr ? nullptr : &handle->stream, stream);
}
int cublasSetPointerMode_v2(Handle* handle, int mode) {
  return keep(handle, &Handle::pointer_mode, mode);
}
int cublasGetPointerMode_v2(Handle* handle, int* mode) {
  return answer(handle == nullptr ? nullptr : &handle->pointer_mode, mode);
}
int cublasSetAtomicsMode(Handle* handle, int mode) {
  return keep(handle, &Handle::atomics_mode, mode);
}
int cublasGetAtomicsMode(Handle* handle, int* mode) {
  return answer(handle == nullptr ? nullptr : &handle->atomics_mode, mode);
}
int cublasSetMathMode(Handle* handle, int mode) { return keep(handle, &Handle::math_mode, mode); }
int cublasGetMathMode(Handle* handle, int* mode) {
  return answer(handle == nullptr ? nullptr : &handle->math_mode, mode);
}
int cublasSetSmCountTarget(Handle* handle, int count) {
  return keep(handle, &Handle::multiprocessors, count);
}
int cublasGetSmCountTarget(Handle* handle, int* count) {
  return answer(handle == nullptr ? nullptr : &handle->multiprocessors, count);
}

int cublasGetVersion_v2(Handle*, int* version) { return answer(&kVersion, version); }

int cublasGetProperty(int which, int* value) {
  if (value == nullptr || which < 0 || which > 2) return kInvalidValue;
  *value = which == 0 ? kVersion / 10000 : 0;
  return kSuccess;
}

std::size_t cublasGetCudartVersion() { return VRAMSCOPE_CUDART_VERSION; }
const char* cublasGetStatusName(int status) { return name_of(status); }
const char* cublasGetStatusString(int status) { return name_of(status); }

int cublasXtCreate(void** handle) { return make_opaque(handle, kInvalidValue, kAllocationFailed); }
int cublasXtDestroy(const Opaque* handle) { return unmake_opaque(handle); }

}  // extern "C"
#pragma GCC visibility pop
