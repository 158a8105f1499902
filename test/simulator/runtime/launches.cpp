// The small runtime: kernels, as nvcc's programs announce and launch them. The simulated device
// accepts and counts a launch; it executes none.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "test/simulator/device/fat_binary.h"
#include "test/simulator/runtime/announced_code.h"
#include "test/simulator/runtime/runtime.h"

namespace cudart {

namespace {

struct Kernel {
  void** binary;  // that announced it; null: it is of a library that the program loaded
  std::string name;
};

struct Variable {
  void** binary;  // that announced it
  std::string name;
  std::size_t bytes;
  bool is_managed;
};

struct Managed {
  void** binary;  // that announced it
  std::string name;
  std::size_t bytes;
};

// What a program's start-up code announced. Never destroyed: programs unregister at exit.
struct Announced {
  std::mutex mutex;
  std::map<const void*, Kernel> kernels;      // by host function
  std::map<const void*, Variable> variables;  // by host variable
  std::map<void**, Managed> managed;          // by where the program keeps a variable's address
  std::map<void**, CUmodule> modules;         // by binary: loaded when one of its parts is used
  std::map<const void*, CUfunction> functions;
  AnnouncedCode code;
};

Announced& announced() {
  static Announced& all = *new Announced;
  return all;
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

// " = {1, 0, 255}"; "": all bytes are 0.
std::string value_of(const std::string& initial) {
  std::string list;
  for (const char byte : initial) {
    list += list.empty() ? " = {" : ", ";
    list += std::to_string(static_cast<unsigned char>(byte));
  }
  return list.empty() ? list : list + "}";
}

// The driver takes a text that declares the announced variables of the binary. Their initial values
// stand in its code.
std::string text_of(Announced& all, void** binary) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (const auto& [host, variable] : all.variables) {
    if (variable.binary != binary || variable.is_managed) continue;
    text += ".visible .global .b8 " + variable.name + "[" + std::to_string(variable.bytes) + "]" +
            value_of(all.code.initial_value(binary, variable.name)) + ";\n";
  }
  return text;
}

CUresult module_of(Announced& all, void** binary, CUmodule* module) {
  CUmodule& loaded = all.modules[binary];
  CUresult result = CUDA_SUCCESS;
  if (loaded == nullptr) {
    result = the_driver().cuModuleLoadData(&loaded, text_of(all, binary).c_str());
  }
  *module = loaded;
  return result;
}

}  // namespace

cudaError_t function_of(const void* host, CUfunction* function) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto kernel = all.kernels.find(host);
  if (kernel == all.kernels.end()) {
    auto* const handle = static_cast<CUkernel>(const_cast<void*>(host));
    const bool is_of_library =
        call_newer(&DriverFunctions::cuKernelGetFunction, function, handle) == cudaSuccess;
    return is_of_library ? cudaSuccess : cudaErrorInvalidDeviceFunction;
  }
  if (const auto known = all.functions.find(host); known != all.functions.end()) {
    *function = known->second;
    return cudaSuccess;
  }
  CUmodule module = nullptr;
  CUresult result = module_of(all, kernel->second.binary, &module);
  if (result != CUDA_SUCCESS) return error_of(result);
  result = the_driver().cuModuleGetFunction(function, module, kernel->second.name.c_str());
  if (result == CUDA_SUCCESS) all.functions[host] = *function;
  return error_of(result);
}

namespace {

Kernel kernel_of(const void* host) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto kernel = all.kernels.find(host);
  return kernel == all.kernels.end() ? Kernel{} : kernel->second;
}

}  // namespace

const void* host_of(CUfunction function) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto same = [function](const auto& one) { return one.second == function; };
  const auto found = std::ranges::find_if(all.functions, same);
  return found == all.functions.end() ? nullptr : found->first;
}

void forget_modules() {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  all.modules.clear();
  all.functions.clear();
}

namespace runtime {

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return error_of(the_driver().cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                              block.z, static_cast<unsigned>(shared), stream,
                                              arguments, nullptr));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host,
                                void** arguments) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return runtime::cudaLaunchKernel(host, config->gridDim, config->blockDim, arguments,
                                   config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return error_of(the_driver().cuLaunchCooperativeKernel(
      function, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared),
      stream, arguments));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  CUfunction function = nullptr;
  if (attributes == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = function_of(host, &function)) return error;
  // CUDA 11.7 and older know the first members only.
  constexpr std::size_t kCommon = offsetof(cudaFuncAttributes, clusterDimMustBeSet);
  cudaFuncAttributes all = {};
  CUresult result = CUDA_SUCCESS;
  const auto ask = [&](auto& member, CUfunction_attribute which) {
    int value = 0;
    const CUresult answer = the_driver().cuFuncGetAttribute(&value, which, function);
    if (answer != CUDA_SUCCESS) result = answer;
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  };
  ask(all.sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  ask(all.constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  ask(all.localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  ask(all.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  ask(all.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  ask(all.ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  ask(all.binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  ask(all.cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  ask(all.maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  ask(all.preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  // Libraries such as CUB choose by what the code was compiled for, not by what the device is.
  const void* const binary = kernel_of(host).binary;
  if (const auto code = binary == nullptr
                            ? std::nullopt
                            : vramscope::simulator::code_for(binary, all.binaryVersion)) {
    all.ptxVersion = code->ptx;
    all.binaryVersion = code->binary;
  }
  if (result == CUDA_SUCCESS) std::memcpy(attributes, &all, kCommon);
  return error_of(result);
}

// The driver has only the names of announced kernels; their parameters stand in the machine code.
cudaError_t cudaFuncGetParamInfo(const void* host, std::size_t index, std::size_t* offset,
                                 std::size_t* bytes) {
  CUfunction function = nullptr;
  if (offset == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = function_of(host, &function)) return error;
  const Kernel kernel = kernel_of(host);
  if (kernel.binary == nullptr) {
    return call_newer(&DriverFunctions::cuFuncGetParamInfo, function, index, offset, bytes);
  }
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto parameters = all.code.parameters(kernel.binary, kernel.name);
  if (!parameters) return cudaErrorNotSupported;
  if (index >= parameters->size()) return cudaErrorInvalidValue;
  *offset = (*parameters)[index].offset;
  if (bytes != nullptr) *bytes = (*parameters)[index].bytes;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return error_of(the_driver().cuFuncSetAttribute(
      function, static_cast<CUfunction_attribute>(attribute), value));
}

cudaError_t cudaFuncSetCacheConfig(const void* host, cudaFuncCache) {
  CUfunction function = nullptr;
  return function_of(host, &function);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int size, std::size_t shared,
                                                                   unsigned flags) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return error_of(the_driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, function, size, shared, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int size,
                                                          std::size_t shared) {
  return runtime::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, size, shared,
                                                                         0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* host,
                                                      int blocks, int size) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return error_of(
      the_driver().cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, size));
}

cudaError_t cudaProfilerStart() { return error_of(the_driver().cuProfilerStart()); }
cudaError_t cudaProfilerStop() { return error_of(the_driver().cuProfilerStop()); }

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  if (address == nullptr) return cudaErrorInvalidValue;
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto variable = all.variables.find(symbol);
  if (variable == all.variables.end()) return cudaErrorInvalidSymbol;
  // A program names a managed variable by what its holder holds.
  CUdeviceptr memory = reinterpret_cast<CUdeviceptr>(symbol);
  if (!variable->second.is_managed) {
    CUmodule module = nullptr;
    CUresult result = module_of(all, variable->second.binary, &module);
    if (result != CUDA_SUCCESS) return error_of(result);
    result =
        the_driver().cuModuleGetGlobal(&memory, nullptr, module, variable->second.name.c_str());
    if (result != CUDA_SUCCESS) return error_of(result);
  }
  *address = reinterpret_cast<void*>(memory);
  return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  const auto variable = all.variables.find(symbol);
  if (variable == all.variables.end()) return cudaErrorInvalidSymbol;
  *bytes = variable->second.bytes;
  return cudaSuccess;
}

// A kernel's handle is its host function here.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  return runtime::cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// What the program has announced by now gets memory with its initial values.
char __cudaInitModule(void**) {
  if (prepare(RuntimeNeeds::context) != cudaSuccess) return 0;
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  for (const auto& [address, variable] : all.managed) {
    CUdeviceptr memory = 0;
    if (*address != nullptr) continue;
    if (the_driver().cuMemAllocManaged(&memory, variable.bytes, CU_MEM_ATTACH_GLOBAL) !=
        CUDA_SUCCESS) {
      return 0;
    }
    *address = reinterpret_cast<void*>(memory);
    const std::string initial = all.code.initial_value(variable.binary, variable.name);
    std::memset(*address, 0, variable.bytes);
    std::memcpy(*address, initial.data(), std::min(initial.size(), variable.bytes));
    all.variables[*address] = {
        .binary = variable.binary, .name = {}, .bytes = variable.bytes, .is_managed = true};
  }
  return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const Configuration last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

// The handle of a binary is its image: only what is announced with it matters.
void** __cudaRegisterFatBinary(void* image) { return static_cast<void**>(image); }
void __cudaRegisterFatBinaryEnd(void**) {}

// The library that announced it goes: its variables are no longer there to be filled.
void __cudaUnregisterFatBinary(void** binary) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.managed, [&](const auto& entry) { return entry.second.binary == binary; });
  all.code.forget(binary);
}

void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  all.kernels[host] = {.binary = binary, .name = name};
}

void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, std::size_t bytes,
                       int, int) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  all.variables[host] = {.binary = binary, .name = name, .bytes = bytes, .is_managed = false};
}

void __cudaRegisterManagedVar(void** binary, void** host, char*, const char* name, int,
                              std::size_t bytes, int, int) {
  Announced& all = announced();
  const std::lock_guard lock(all.mutex);
  all.managed[host] = {.binary = binary, .name = name, .bytes = bytes};
}

}  // namespace runtime

}  // namespace cudart
