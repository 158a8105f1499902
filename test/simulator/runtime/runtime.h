// A small CUDA runtime that speaks the loader protocol of the real one, for the simulated driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Before cuda.h: the runtime's header must be seen in its plain form.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "test/simulator/device/vendor.h"

#ifndef VRAMSCOPE_CUDART_VERSION
#define VRAMSCOPE_CUDART_VERSION CUDART_VERSION
#endif

namespace cudart {

// The version of the runtime that this one replaces: there is one build for each soname.
inline constexpr int kVersion = VRAMSCOPE_CUDART_VERSION;

// The driver's functions, as they were looked up; `per_thread` has the per-thread variants that
// exist.
struct DriverFunctions {
#define USE(symbol, asked, version) decltype(&::symbol) asked = nullptr;
#define USE_STREAMED(symbol, asked, version) USE(symbol, asked, version)
#define NEWER(symbol, asked, version) USE(symbol, asked, version)
#define NEWER_STREAMED(symbol, asked, version) USE(symbol, asked, version)
#include "test/simulator/runtime/driver.def"
#undef USE
#undef USE_STREAMED
#undef NEWER
#undef NEWER_STREAMED
};

enum class RuntimeNeeds : std::uint8_t { plain, driver, context };

// Returns the functions for the default stream of the entry point that this thread is in. Valid
// only after the driver was loaded.
const DriverFunctions& the_driver();
// Returns cuGetProcAddress as the driver gave it at 12000; null without a driver.
decltype(&::cuGetProcAddress_v2) driver_lookup();
bool& per_thread_default();

// Loads and initialises the driver and makes a context current, as far as needed.
[[nodiscard]] cudaError_t prepare(RuntimeNeeds needs);
// The current thread's device; -1 until the thread chose one or asked.
int& chosen_device();
// Notes that the primary context of this device was reset: it must be retained again.
void forget_context(int device);
// Notes the same for modules, which are gone with the context.
void forget_modules();
cudaError_t& last_error();

// The driver's numbers equal the runtime's (driver_types.h).
[[nodiscard]] inline cudaError_t error_of(CUresult result) {
  return static_cast<cudaError_t>(result);
}

// Calls a function that an older driver does not have.
template <class Function, class... Arguments>
[[nodiscard]] cudaError_t call_newer(Function DriverFunctions::*which, Arguments... arguments) {
  const Function function = the_driver().*which;
  return function == nullptr ? cudaErrorCallRequiresNewerDriver : error_of(function(arguments...));
}

// Finds the driver's handle of a kernel that the program's start-up code registered. `host` may
// also be a kernel of a library that the program loaded.
[[nodiscard]] cudaError_t function_of(const void* host, CUfunction* function);
// Finds the address under which a kernel was registered; null: none was.
[[nodiscard]] const void* host_of(CUfunction function);
// Converts a copy of a box to the driver's description.
[[nodiscard]] cudaError_t box(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& copy);

[[nodiscard]] inline CUdeviceptr device_pointer(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace cudart

// Functions that compilers call. No public header declares them in a form whose address can be
// taken.
extern "C" {
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
char __cudaInitModule(void** binary);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream);
void** __cudaRegisterFatBinary(void* image);
void __cudaRegisterFatBinaryEnd(void** binary);
void __cudaUnregisterFatBinary(void** binary);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* name,
                            int limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* size);
void __cudaRegisterVar(void** binary, char* host, char* device, const char* name, int ext,
                       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void** binary, void** host, char* device, const char* name, int ext,
                              size_t bytes, int constant, int global);
}

namespace cudart::runtime {
// Where cudaStreamGetCaptureInfo of any major version writes its results; all but the first may be
// null.
struct CaptureInfo {
  cudaStreamCaptureStatus* status;
  unsigned long long* id = nullptr;
  cudaGraph_t* graph = nullptr;
  const cudaGraphNode_t** nodes = nullptr;
  const cudaGraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};
cudaError_t capture_info(cudaStream_t stream, const CaptureInfo& out);

#define RUNTIME(symbol, needs) decltype(::symbol) symbol;
#define RUNTIME_STREAMED(symbol, suffix, needs) RUNTIME(symbol, needs)
#define OLDER(symbol, body, needs)
#define OLDER_STREAMED(symbol, suffix, body, needs)
#include "test/simulator/runtime/functions.def"
#undef RUNTIME
#undef RUNTIME_STREAMED
#undef OLDER
#undef OLDER_STREAMED

// Functions that older runtimes have under other names or with other parameters.
#if VRAMSCOPE_CUDART_VERSION < 12000
decltype(::cudaGetDriverEntryPoint) cudaGetDriverEntryPoint;
decltype(::cudaGraphExecUpdate) cudaGraphExecUpdate;
#endif
#if VRAMSCOPE_CUDART_VERSION < 13000
decltype(::cudaMemAdvise) cudaMemAdvise;
decltype(::cudaMemPrefetchAsync) cudaMemPrefetchAsync;
decltype(::cudaStreamGetCaptureInfo) cudaStreamGetCaptureInfo;
#endif
}  // namespace cudart::runtime
