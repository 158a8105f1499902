// Modules, functions and launches: accepted and counted, never executed.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "test/simulator/device/fat_binary.h"
#include "test/simulator/device/kernel_parameters.h"
#include "test/simulator/driver/busy_wait.h"
#include "test/simulator/driver/driver.h"
#include "test/simulator/driver/jit_options.h"
#include "test/simulator/driver/module_variables.h"

// Names, variables and parameters are all that is known about code.
struct CUmod_st {
  std::mutex mutex;             // guards what follows the context
  CUcontext context = nullptr;  // that it was loaded into; null: none
  std::map<std::string, std::shared_ptr<CUfunc_st>> functions;
  vramscope::simulator::ModuleVariables variables;
  vramscope::simulator::Parameters parameters;
};
struct CUfunc_st {
  std::string name;
  CUmodule module = nullptr;
};

namespace vramscope::simulator {

namespace {

// A library is a module, a kernel a function: the same objects under the vendor's two names.
CUmodule module_of(CUlibrary library) { return reinterpret_cast<CUmodule>(library); }
CUkernel kernel_of(CUfunction function) { return reinterpret_cast<CUkernel>(function); }
CUfunction function_of(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

Handles<CUmod_st>& modules() {
  static auto& all = *new Handles<CUmod_st>;
  return all;
}

Handles<CUfunc_st>& functions() {
  static auto& all = *new Handles<CUfunc_st>;
  return all;
}

// Whose variables have memory at once, and whose when they are asked for.
enum class Loaded { module, library };

CUresult load(CUmodule* module, std::string_view image, Loaded what) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto made = std::make_shared<CUmod_st>();
  made->variables = ModuleVariables(image);
  made->parameters = parameters_of(image);
  made->context = current_context();
  if (made->context != nullptr) {
    const std::uint64_t code_bytes = driver().configuration.module_bytes;
    if (!keep_for(made->context, code_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult no =
        what == Loaded::module ? made->variables.place_all(made->context) : CUDA_SUCCESS;
    if (no != CUDA_SUCCESS) {
      made->variables.end();
      keep_less_for(made->context, code_bytes);
      return no;
    }
  }
  *module = modules().add(made);
  return CUDA_SUCCESS;
}

CUresult load_image(CUmodule* module, const void* image, Loaded what = Loaded::module) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (is_fat_binary(image)) return load(module, code_in(image), what);
  return load(module, {static_cast<const char*>(image), image_bytes(image)}, what);
}

CUresult load_file(CUmodule* module, const char* path, Loaded what = Loaded::module) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const bool is_fat = content.size() >= kFatBinaryStart && is_fat_binary(content.data());
  return load(module, is_fat ? code_in(content.data()) : content, what);
}

CUresult find(CUfunction* function, CUmodule handle, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto module = modules().find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(module->mutex);
  auto& found = module->functions[name];
  if (!found) {
    found = std::make_shared<CUfunc_st>(CUfunc_st{name, handle});
    functions().add(found);
  }
  *function = found.get();
  return CUDA_SUCCESS;
}

bool good_shape(unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y,
                unsigned z) {
  return grid_x != 0 && grid_y != 0 && grid_z != 0 && x != 0 && y != 0 && z != 0 &&
         std::uint64_t{x} * y * z <= 1024;  // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
}

CUresult launch(CUfunction function, CUstream handle, const CUDA_KERNEL_NODE_PARAMS_v3& shape) {
  if (!functions().find(function)) return CUDA_ERROR_INVALID_HANDLE;
  if (!good_shape(shape.gridDimX, shape.gridDimY, shape.gridDimZ, shape.blockDimX, shape.blockDimY,
                  shape.blockDimZ)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_KERNEL);
  node.kernel = shape;
  const bool captured = capture_of(*stream) != nullptr;
  const CUresult result = submit(*stream, {}, nullptr, &node);
  if (result == CUDA_SUCCESS && !captured) {
    ++driver().launches;
    watch_for_busy_wait();
  }
  return result;
}

CUresult attribute_of(int* value, CUfunction_attribute name, CUfunction function) {
  if (value == nullptr || !functions().find(function)) return CUDA_ERROR_INVALID_VALUE;
  switch (name) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = configuration().model.major * 10 + configuration().model.minor;
      break;
    default:
      *value = 0;
      break;
  }
  return CUDA_SUCCESS;
}

// Parameters are not known where the image says nothing of the kernel, such as linked code.
CUresult parameter_of(CUfunction handle, std::size_t index, std::size_t* offset,
                      std::size_t* bytes) {
  const auto function = functions().find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto module = modules().find(function->module);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = module->parameters.find(function->name);
  if (found == module->parameters.end()) return CUDA_ERROR_NOT_SUPPORTED;
  if (index >= found->second.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = found->second[index].offset;
  if (bytes != nullptr) *bytes = found->second[index].bytes;
  return CUDA_SUCCESS;
}

CUresult known(CUfunction function) {
  return functions().find(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

bool is_function(CUfunction function) { return functions().find(function) != nullptr; }

namespace body {

CUresult cuModuleLoad(CUmodule* module, const char* path) { return load_file(module, path); }
CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load_image(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  leave_logs_empty(count, options, values);
  return load_image(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_image(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  const auto leaving = modules().find(module);
  if (!leaving || !modules().remove(module)) return CUDA_ERROR_INVALID_HANDLE;
  const std::uint64_t bytes = driver().configuration.module_bytes;
  // What was loaded into a context that has ended went with it.
  if (leaving->context != nullptr && leaving->context->kept >= bytes) {
    keep_less_for(leaving->context, bytes);
  }
  leaving->variables.end();
  functions().remove_if([module](const CUfunc_st& f) { return f.module == module; });
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return find(function, module, name);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, std::size_t* bytes, CUmodule handle,
                              const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto module = modules().find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(module->mutex);
  // Memory of the context that the module lives in, or, of a library, of the one that asks.
  CUcontext context = module->context != nullptr ? module->context : current_context();
  ModuleVariables::Place found;
  if (const CUresult no = module->variables.find(name, context, found); no != CUDA_SUCCESS)
    return no;
  if (pointer != nullptr) *pointer = found.address;
  if (bytes != nullptr) *bytes = found.bytes;
  return CUDA_SUCCESS;
}

// Pointers had 32 bits then, and no address here fits.
CUresult cuModuleGetGlobal(unsigned*, unsigned*, CUmodule, const char*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return load_image(reinterpret_cast<CUmodule*>(library), code, Loaded::library);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                               unsigned, CUlibraryOption*, void**, unsigned) {
  return load_file(reinterpret_cast<CUmodule*>(library), path, Loaded::library);
}

CUresult cuLibraryUnload(CUlibrary library) { return body::cuModuleUnload(module_of(library)); }

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!modules().find(module_of(library))) return CUDA_ERROR_INVALID_HANDLE;
  *module = module_of(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  CUfunction function = nullptr;
  if (kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = find(&function, module_of(library), name);
  if (result == CUDA_SUCCESS) *kernel = kernel_of(function);
  return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, std::size_t* bytes, CUlibrary library,
                            const char* name) {
  return body::cuModuleGetGlobal_v2(pointer, bytes, module_of(library), name);
}

CUresult cuLibraryGetManaged(CUdeviceptr* pointer, std::size_t* bytes, CUlibrary library,
                             const char* name) {
  return body::cuModuleGetGlobal_v2(pointer, bytes, module_of(library), name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult no = known(function_of(kernel)); no != CUDA_SUCCESS) return no;
  *function = function_of(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute name, CUkernel kernel, CUdevice) {
  return attribute_of(value, name, function_of(kernel));
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel kernel, CUdevice) {
  return known(function_of(kernel));
}
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice) {
  return known(function_of(kernel));
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return body::cuFuncGetName(name, function_of(kernel));
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute name, CUfunction function) {
  return attribute_of(value, name, function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
  return known(function);
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) { return known(function); }
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) { return known(function); }
CUresult cuFuncLoad(CUfunction function) { return known(function); }

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return known(function);
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  const auto found = functions().find(function);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = found->module;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  return parameter_of(function, index, offset, bytes);
}
CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  return parameter_of(function_of(kernel), index, offset, bytes);
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  const auto found = functions().find(function);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = found->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned x, unsigned y, unsigned z, unsigned shared, CUstream stream,
                        void** parameters, void** extra) {
  return launch(
      function, stream,
      {function, grid_x, grid_y, grid_z, x, y, z, shared, parameters, extra, nullptr, nullptr});
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned x, unsigned y, unsigned z,
                                   unsigned shared, CUstream stream, void** parameters) {
  return body::cuLaunchKernel(function, grid_x, grid_y, grid_z, x, y, z, shared, stream, parameters,
                              nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** parameters,
                          void** extra) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return body::cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX,
                              c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->hStream, parameters,
                              extra);
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace body

}  // namespace vramscope::simulator
