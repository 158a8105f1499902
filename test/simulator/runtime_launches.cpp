// Kernels: what compilers register, and launches of it. The driver accepts and counts them.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "test/simulator/runtime.h"

namespace vramscope::simulator {

namespace {

struct ManagedVariable {
  void** host;
  size_t bytes;
};

// One compiled binary of the program; the handle that compilers keep is its address.
struct Binary {
  const void* image = nullptr;
  std::vector<ManagedVariable> managed;
};

struct Kernel {
  Binary* binary = nullptr;
  std::string name;
};

struct Launch {
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};

struct Registry {
  std::mutex mutex;  // guards everything below
  std::vector<std::unique_ptr<Binary>> binaries;
  std::map<const void*, Kernel> kernels;  // by the host's stand-in for the kernel
  std::map<std::pair<Binary*, CUcontext>, CUmodule> modules;
  std::map<std::pair<const void*, CUcontext>, CUfunction> functions;
};

Registry& registry() {
  static auto& once = *new Registry;  // static initialisers of the program come first
  return once;
}

std::vector<Launch>& configurations() {
  thread_local std::vector<Launch> pushed;
  return pushed;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

CUresult module_for(Registry& r, Binary* binary, CUcontext context, CUmodule* module) {
  CUmodule& loaded = r.modules[{binary, context}];
  if (loaded == nullptr) {
    const CUresult result = the_driver().cuModuleLoadData(&loaded, binary->image);
    if (result != CUDA_SUCCESS) return result;
  }
  *module = loaded;
  return CUDA_SUCCESS;
}

// Loads lazily, as the real runtime does by default.
cudaError_t function_for(const void* host, CUfunction* function) {
  CUcontext context = nullptr;
  (void)the_driver().cuCtxGetCurrent(&context);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto kernel = r.kernels.find(host);
  if (kernel == r.kernels.end()) return cudaErrorInvalidDeviceFunction;
  CUfunction& known = r.functions[{host, context}];
  if (known == nullptr) {
    CUmodule module = nullptr;
    CUresult result = module_for(r, kernel->second.binary, context, &module);
    if (result == CUDA_SUCCESS) {
      result = the_driver().cuModuleGetFunction(&known, module, kernel->second.name.c_str());
    }
    if (result != CUDA_SUCCESS) return error_of(result);
  }
  *function = known;
  return cudaSuccess;
}

cudaError_t launch(const void* host, const Launch& l, void** arguments) {
  CUfunction function = nullptr;
  const cudaError_t wrong = function_for(host, &function);
  if (wrong != cudaSuccess) return wrong;
  const CUresult result = the_driver().cuLaunchKernel(
      function, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z,
      static_cast<unsigned>(l.shared), l.stream, arguments, nullptr);
  // The runtime has its own word for a bad shape.
  return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : error_of(result);
}

int attribute(CUfunction function, CUfunction_attribute name) {
  int value = 0;
  (void)the_driver().cuFuncGetAttribute(&value, name, function);
  return value;
}

}  // namespace

void forget_modules() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.modules.clear();
  r.functions.clear();
}

namespace runtime {

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return launch(host, {grid, block, shared, stream}, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return launch(host, {grid, block, shared, stream}, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* host, void** arguments) {
  if (c == nullptr) return cudaErrorInvalidValue;
  return launch(host, {c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream}, arguments);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  const cudaError_t wrong = function_for(host, &function);
  if (wrong != cudaSuccess) return wrong;
  *attributes = {};
  attributes->maxThreadsPerBlock = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes->numRegs = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes->ptxVersion = attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attributes->binaryVersion = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute name, int value) {
  CUfunction function = nullptr;
  const cudaError_t wrong = function_for(host, &function);
  if (wrong != cudaSuccess) return wrong;
  return error_of(
      the_driver().cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(name), value));
}

cudaError_t cudaFuncSetCacheConfig(const void* host, cudaFuncCache) {
  CUfunction function = nullptr;
  return function_for(host, &function);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int block_size, size_t shared,
                                                                   unsigned flags) {
  CUfunction function = nullptr;
  const cudaError_t wrong = function_for(host, &function);
  if (wrong != cudaSuccess) return wrong;
  return error_of(the_driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, function, block_size, shared, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host,
                                                          int block_size, size_t shared) {
  return runtime::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, block_size,
                                                                         shared, 0);
}

cudaError_t cudaProfilerStart() { return error_of(the_driver().cuProfilerStart()); }
cudaError_t cudaProfilerStop() { return error_of(the_driver().cuProfilerStop()); }

// A kernel's handle is the host's stand-in for it.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  if (kernel == nullptr) return cudaErrorInvalidValue;
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return launch(kernel, {grid, block, shared, stream}, arguments);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const Launch pushed = configurations().back();
  configurations().pop_back();
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}

void** __cudaRegisterFatBinary(void* image) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.binaries.push_back(std::make_unique<Binary>());
  r.binaries.back()->image = image;
  return reinterpret_cast<void**>(r.binaries.back().get());
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const Binary* gone = binary_of(handle);
  std::erase_if(r.kernels, [gone](const auto& entry) { return entry.second.binary == gone; });
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.kernels[host] = {binary_of(handle), name};
}

// Device variables have no address here; nothing needs to be kept.
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char*, int, size_t bytes,
                              int, int) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  binary_of(handle)->managed.push_back({host, bytes});
}

// Managed variables are ordinary memory of the host: no device code runs that could see them.
char __cudaInitModule(void** handle) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const ManagedVariable& variable : binary_of(handle)->managed) {
    if (*variable.host == nullptr) *variable.host = std::calloc(1, variable.bytes);
  }
  return 1;
}

}  // namespace runtime

}  // namespace vramscope::simulator
