// The stand-in for cuSOLVER: handles, and what a solver says of its problem. It has succeeded.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cusolverStatus_t
constexpr int kNotInitialized = 1;
constexpr int kAllocationFailed = 2;
constexpr int kInvalidValue = 3;
constexpr int kVersion = VRAMSCOPE_LIBRARY_VERSION;

struct Handle {
  Opaque head;
  cudaStream_t stream = nullptr;
};

std::atomic_flag said_modelled;

int make(Handle** made) {
  if (made == nullptr) return kInvalidValue;
  say_modelled(said_modelled,
               "cuSOLVER is a stand-in on the simulated device: its memory is modelled (no solver "
               "needs a workspace, each succeeds), its kernels are not executed");
  *made = new (std::nothrow) Handle;
  return *made == nullptr ? kAllocationFailed : kSuccess;
}

int destroy(const Handle* handle) {
  if (handle == nullptr) return kNotInitialized;
  delete handle;
  return kSuccess;
}

int set_stream(Handle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  handle->stream = stream;
  return kSuccess;
}

int get_stream(const Handle* handle, cudaStream_t* stream) {
  if (handle == nullptr) return kNotInitialized;
  return write_result(stream, handle->stream, kInvalidValue);
}

}  // namespace

int write_solved(const void* handle, int* info, std::int64_t problems) {
  if (handle == nullptr) return kNotInitialized;
  return write_solved_on(static_cast<const Handle*>(handle)->stream, info, problems);
}

}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cusolverDnCreate(Handle** made) { return make(made); }
int cusolverDnDestroy(const Handle* handle) { return destroy(handle); }
int cusolverDnSetStream(Handle* handle, cudaStream_t stream) { return set_stream(handle, stream); }
int cusolverDnGetStream(const Handle* handle, cudaStream_t* stream) {
  return get_stream(handle, stream);
}
int cusolverSpCreate(Handle** made) { return make(made); }
int cusolverSpDestroy(const Handle* handle) { return destroy(handle); }
int cusolverSpSetStream(Handle* handle, cudaStream_t stream) { return set_stream(handle, stream); }
int cusolverSpGetStream(const Handle* handle, cudaStream_t* stream) {
  return get_stream(handle, stream);
}

int cusolverGetVersion(int* version) { return write_result(version, kVersion, kInvalidValue); }
int cusolverGetProperty(int which, int* value) {
  if (which < 0 || which > 2) return kInvalidValue;
  return write_result(value, which == 0 ? kVersion / 1000 : 0, kInvalidValue);
}

}  // extern "C"
#pragma GCC visibility pop
