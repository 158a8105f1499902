// The small runtime: kernels by their handles, libraries that a program loads, and clusters.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

namespace {

// The driver's options have the same numbers (driver_types.h).
template <class To, class From>
To* as(From* options) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To*>(options);
}

// Launch attributes are the driver's under other names.
struct Config {
  explicit Config(const cudaLaunchConfig_t& from)
      : attributes(from.numAttrs),
        driver({from.gridDim.x, from.gridDim.y, from.gridDim.z, from.blockDim.x, from.blockDim.y,
                from.blockDim.z, static_cast<unsigned>(from.dynamicSmemBytes), from.stream,
                attributes.data(), from.numAttrs}) {
    static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
    std::copy_n(reinterpret_cast<const CUlaunchAttribute*>(from.attrs), from.numAttrs,
                attributes.begin());
  }

  std::vector<CUlaunchAttribute> attributes;
  CUlaunchConfig driver;
};

template <class Question>
cudaError_t ask_of_clusters(int* answer, const void* host, const cudaLaunchConfig_t* config,
                            Question question) {
  CUfunction function = nullptr;
  if (config == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = function_of(host, &function)) return error;
  const Config asked(*config);
  return error_of(question(answer, function, &asked.driver));
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit,
                                void** jit_values, unsigned jit_count, cudaLibraryOption* options,
                                void** values, unsigned count) {
  return call_newer(&DriverFunctions::cuLibraryLoadData, library, code, as<CUjit_option>(jit),
                    jit_values, jit_count, as<CUlibraryOption>(options), values, count);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* jit,
                                    void** jit_values, unsigned jit_count,
                                    cudaLibraryOption* options, void** values, unsigned count) {
  return call_newer(&DriverFunctions::cuLibraryLoadFromFile, library, path, as<CUjit_option>(jit),
                    jit_values, jit_count, as<CUlibraryOption>(options), values, count);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call_newer(&DriverFunctions::cuLibraryUnload, library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return call_newer(&DriverFunctions::cuLibraryGetKernel, kernel, library, name);
}

cudaError_t cudaLibraryGetGlobal(void** address, std::size_t* bytes, cudaLibrary_t library,
                                 const char* name) {
  return call_newer(&DriverFunctions::cuLibraryGetGlobal, reinterpret_cast<CUdeviceptr*>(address),
                    bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void** address, std::size_t* bytes, cudaLibrary_t library,
                                  const char* name) {
  return call_newer(&DriverFunctions::cuLibraryGetManaged, reinterpret_cast<CUdeviceptr*>(address),
                    bytes, library, name);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(kernel, &function)) return error;
  return call_newer(&DriverFunctions::cuKernelSetAttribute,
                    static_cast<CUfunction_attribute>(attribute), value,
                    reinterpret_cast<CUkernel>(function), device);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* host) {
  return function == nullptr ? cudaErrorInvalidValue : function_of(host, function);
}

// One object under two names, in the simulated driver.
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return runtime::cudaGetFuncBySymbol(reinterpret_cast<cudaFunction_t*>(kernel), host);
}

cudaError_t cudaFuncGetName(const char** name, const void* host) {
  CUfunction function = nullptr;
  if (const cudaError_t error = function_of(host, &function)) return error;
  return call_newer(&DriverFunctions::cuFuncGetName, name, function);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* host,
                                                 const cudaLaunchConfig_t* config) {
  return ask_of_clusters(blocks, host, config, the_driver().cuOccupancyMaxPotentialClusterSize);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* host,
                                           const cudaLaunchConfig_t* config) {
  return ask_of_clusters(clusters, host, config, the_driver().cuOccupancyMaxActiveClusters);
}

}  // namespace cudart::runtime
