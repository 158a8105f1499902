/* Stands in for cuBLAS where its kernels are never run: what llama.cpp links, doing nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))
#define NOTHING(symbol)                                                                            \
  EXPORTED int symbol(void) { return 0; }

static int the_handle;

EXPORTED int cublasCreate_v2(void** handle) {
  *handle = &the_handle;
  return 0;
}

EXPORTED const char* cublasGetStatusString(int status) {
  return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_INTERNAL_ERROR";
}

NOTHING(cublasDestroy_v2)
NOTHING(cublasGemmBatchedEx)
NOTHING(cublasGemmEx)
NOTHING(cublasGemmStridedBatchedEx)
NOTHING(cublasSetMathMode)
NOTHING(cublasSetStream_v2)
NOTHING(cublasSetWorkspace_v2)
NOTHING(cublasSgemmBatched)
NOTHING(cublasSgemmStridedBatched)
NOTHING(cublasSgemm_v2)
NOTHING(cublasStrsmBatched)
