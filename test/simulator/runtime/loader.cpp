// How the small runtime finds the driver: the protocol of the real one, step by step, and how it
// makes a context current.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <array>
#include <mutex>

#include "test/simulator/runtime/runtime.h"

namespace cudart {

namespace {

constexpr int kMostDevices = 64;
constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Loaded {
  cudaError_t error = cudaErrorInsufficientDriver;
  decltype(&::cuGetProcAddress_v2) lookup = nullptr;
  DriverFunctions legacy;
  DriverFunctions per_thread;
};

std::mutex contexts_mutex;  // guards the array
std::array<CUcontext, kMostDevices> primaries = {};

template <class Function>
bool ask(Loaded& loaded, Function& function, const char* name, int version, cuuint64_t flags) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = loaded.lookup(name, &found, version, flags, &status);
  if (result != CUDA_SUCCESS || status != CU_GET_PROC_ADDRESS_SUCCESS) return false;
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

bool ask_for_all(Loaded& loaded) {
  bool all = true;
#define USE(symbol, asked, version)                            \
  all &= ask(loaded, loaded.legacy.asked, #asked, version, 0); \
  loaded.per_thread.asked = loaded.legacy.asked;
#define USE_STREAMED(symbol, asked, version)                   \
  all &= ask(loaded, loaded.legacy.asked, #asked, version, 0); \
  all &= ask(loaded, loaded.per_thread.asked, #asked, version, kPerThread);
#define NEWER(symbol, asked, version)                         \
  (void)ask(loaded, loaded.legacy.asked, #asked, version, 0); \
  loaded.per_thread.asked = loaded.legacy.asked;
#define NEWER_STREAMED(symbol, asked, version)                \
  (void)ask(loaded, loaded.legacy.asked, #asked, version, 0); \
  (void)ask(loaded, loaded.per_thread.asked, #asked, version, kPerThread);
#include "test/simulator/runtime/driver.def"
  return all;
}

// A driver before 12.0 has the older lookup only, which tells by its result.
decltype(&::cuGetProcAddress) older_lookup = nullptr;

CUresult ask_older(const char* name, void** function, int version, cuuint64_t flags,
                   CUdriverProcAddressQueryResult* status) {
  const CUresult result = older_lookup(name, function, version, flags);
  if (status != nullptr) {
    *status =
        result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return result;
}

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

decltype(Loaded::lookup) find_lookup(void* library) {
  if (auto newer = symbol<decltype(Loaded::lookup)>(library, "cuGetProcAddress_v2")) return newer;
  older_lookup = symbol<decltype(older_lookup)>(library, "cuGetProcAddress");
  return older_lookup == nullptr ? nullptr : &ask_older;
}

// Minor versions of one major work with each other; older majors of the driver do not (guide to
// compatibility).
bool is_too_old(const Loaded& loaded) {
  decltype(&::cuDriverGetVersion) version_of = loaded.legacy.cuDriverGetVersion;
  int version = 0;
  return version_of(&version) != CUDA_SUCCESS || version / 1000 < kVersion / 1000;
}

// The order of questions is the real runtime's (seen with CUDA 13.0): a probe with an empty
// name, cuInit, then the lookup itself at both ABIs, and through the newer one everything else. As
// there, the answers go straight to the runtime's own data.
void load(Loaded& loaded) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return;
  loaded.lookup = find_lookup(library);
  if (loaded.lookup == nullptr) return;
  void* nothing = nullptr;
  (void)loaded.lookup("", &nothing, 0, 0, nullptr);
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuGetProcAddress) older = nullptr;
  decltype(loaded.lookup) newer = nullptr;
  if (!ask(loaded, init, "cuInit", 2000, 0)) return;
  if (!ask(loaded, older, "cuGetProcAddress", 11030, 0)) return;
  if (ask(loaded, newer, "cuGetProcAddress", 12000, 0)) loaded.lookup = newer;
  if (!ask_for_all(loaded) || is_too_old(loaded)) return;
  loaded.error = error_of(init(0));
}

// Exit handlers use it, and nothing of it has a destructor.
const Loaded& loaded() {
  static constinit Loaded once;
  static const bool is_loaded = (load(once), true);
  static_cast<void>(is_loaded);
  return once;
}

cudaError_t retain(int device, CUcontext* context) {
  if (device < 0 || device >= kMostDevices) return cudaErrorInvalidDevice;
  const std::lock_guard lock(contexts_mutex);
  CUcontext& primary = primaries[static_cast<std::size_t>(device)];
  if (primary == nullptr) {
    const CUresult result = the_driver().cuDevicePrimaryCtxRetain(&primary, device);
    if (result != CUDA_SUCCESS) {
      primary = nullptr;
      return error_of(result);
    }
  }
  *context = primary;
  return cudaSuccess;
}

// A context that the program made current itself is used as it is.
cudaError_t make_current() {
  CUcontext current = nullptr;
  CUcontext primary = nullptr;
  const CUresult known = the_driver().cuCtxGetCurrent(&current);
  if (known != CUDA_SUCCESS) return error_of(known);
  const int device = chosen_device() < 0 ? 0 : chosen_device();
  const cudaError_t retained = retain(device, &primary);
  if (retained != cudaSuccess || current != nullptr) return retained;
  return error_of(the_driver().cuCtxSetCurrent(primary));
}

}  // namespace

const DriverFunctions& the_driver() {
  return per_thread_default() ? loaded().per_thread : loaded().legacy;
}

decltype(&::cuGetProcAddress_v2) driver_lookup() { return loaded().lookup; }

bool& per_thread_default() {
  thread_local bool per_thread = false;
  return per_thread;
}

int& chosen_device() {
  thread_local int device = -1;
  return device;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

void forget_context(int device) {
  const std::lock_guard lock(contexts_mutex);
  primaries[static_cast<std::size_t>(device)] = nullptr;
}

cudaError_t prepare(RuntimeNeeds needs) {
  if (needs == RuntimeNeeds::plain) return cudaSuccess;
  if (loaded().error != cudaSuccess || needs == RuntimeNeeds::driver) return loaded().error;
  return make_current();
}

}  // namespace cudart
