// Settings of a context: limits, cache preferences. Kept or accepted, without effect.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <mutex>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

std::mutex settings_mutex;  // guards the limits

std::array<std::size_t, CU_LIMIT_MAX>& limits() {
  static std::array<std::size_t, CU_LIMIT_MAX> values = [] {
    std::array<std::size_t, CU_LIMIT_MAX> defaults = {};
    defaults[CU_LIMIT_STACK_SIZE] = 1024;
    defaults[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    defaults[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    defaults[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    defaults[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    return defaults;
  }();
  return values;
}

constexpr unsigned kFirstDriverApi = 3020;  // what cuCtxGetApiVersion has answered since CUDA 3.2

}  // namespace

namespace body {

// This and the next tell a context that has ended, which cuCtxGetDevice and cuCtxGetFlags do not
// (an H200 with driver 580.159.04).
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext asked = context == nullptr ? current_context() : context;
  if (asked == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refusal = check_context(asked); refusal != CUDA_SUCCESS) {
    return context == nullptr ? refusal : CUDA_ERROR_INVALID_CONTEXT;
  }
  *version = kFirstDriverApi;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr) context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refusal = check_context(context); refusal != CUDA_SUCCESS) return refusal;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *flags = current_context()->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return CUDA_ERROR_INVALID_VALUE;
  current_context()->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(settings_mutex);
  *value = limits()[limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(settings_mutex);
  limits()[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) { return CUDA_SUCCESS; }

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

}  // namespace body

}  // namespace vramscope::simulator
