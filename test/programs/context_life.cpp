// Contexts made by every version of the call but the first (old_names), attached to and left, and
// green ones.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/by_name.h"

static constexpr std::size_t kMiB = std::size_t{1} << 20;

// What was allocated in the context goes with it, at the last of its owners.
static void use(CUresult made, const CUcontext& context) {
  if (made != CUDA_SUCCESS) return;
  CUdeviceptr block = 0;
  CUcontext same = nullptr;
  CALL(cuMemAlloc_v2, &block, kMiB);
  if (CALL(cuCtxAttach, &same, 0u) == CUDA_SUCCESS) {
    std::printf("the same context: %d\n", same == context);
    CALL(cuCtxDetach, same);
    CALL(cuMemFree_v2, block);
    CALL(cuCtxDetach, context);
  } else {
    CALL(cuCtxDestroy_v2, context);
  }
  CALL(cuMemFree_v2, block);
}

static void green(CUcontext primary) {
  CUdevResource all;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUcontext view = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr block = 0;
  CALL(cuDeviceGetDevResource, 0, &all, CU_DEV_RESOURCE_TYPE_SM);
  CALL(cuDevResourceGenerateDesc, &description, &all, 1u);
  const bool made = CALL(cuGreenCtxCreate, &context, description, 0,
                         unsigned{CU_GREEN_CTX_DEFAULT_STREAM}) == CUDA_SUCCESS;
  if (CALL(cuGreenCtxStreamCreate, &stream, context, unsigned{CU_STREAM_NON_BLOCKING}, 0) ==
      CUDA_SUCCESS) {
    CALL(cuStreamDestroy_v2, stream);
  }
  if (CALL(cuCtxFromGreenCtx, &view, context) == CUDA_SUCCESS) {
    CALL(cuCtxSetCurrent, view);
    CALL(cuMemAlloc_v2, &block, kMiB);
    CALL(cuCtxSetCurrent, primary);
  }
  if (made) CALL(cuGreenCtxDestroy, context);
  if (!made) CALL(cuGreenCtxDestroy, CUgreenCtx{nullptr});
  if (block != 0) CALL(cuMemFree_v2, block);
}

int main() {
  CUcontext primary = start_by_name(), context = nullptr;
  CUexecAffinityParam* affinity = nullptr;
  CUctxCreateParams* parameters = nullptr;
  use(CALL(cuCtxCreate_v2, &context, 0u, 0), context);
  use(CALL(cuCtxCreate_v3, &context, affinity, 0, 0u, 0), context);
  use(CALL(cuCtxCreate_v4, &context, parameters, 0u, 0), context);
  CALL(cuCtxDetach, CUcontext{nullptr});
  CALL(cuCtxSetCurrent, primary);
  green(primary);
}
