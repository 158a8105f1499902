// The stand-in for cuBLASLt: handles, descriptors, and one algorithm for each product.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cublasStatus_t
constexpr int kAllocationFailed = 3;
constexpr int kInvalidValue = 7;
constexpr std::size_t kVersion = VRAMSCOPE_LIBRARY_VERSION;

constexpr std::size_t kAlgorithmBytes = 64;

// cublasLtMatmulHeuristicResult_t. The rule for what NVIDIA does not document: an algorithm needs
// no workspace. Programs hand in one of their own, of which this library takes nothing.
struct Proposal {
  std::byte algorithm[kAlgorithmBytes];
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

std::atomic_flag said_modelled;

int make(void** made) { return make_opaque(made, kInvalidValue, kAllocationFailed); }

int propose(Proposal* proposal) {
  if (proposal != nullptr)
    *proposal = {.algorithm = {}, .workspace_bytes = 0, .status = 0, .waves = 1, .reserved = {}};
  return kSuccess;
}

const char* name_of(int status) {
  return status == kSuccess ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS";
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cublasLtCreate(void** handle) {
  say_modelled(
      said_modelled,
      "cuBLASLt is a stand-in on the simulated device: its memory is modelled (no algorithm needs "
      "a workspace), its kernels are not executed");
  return make(handle);
}
int cublasLtDestroy(Opaque* handle) { return unmake_opaque(handle); }

int cublasLtMatmulDescCreate(void** made, int, int) { return make(made); }
int cublasLtMatmulDescDestroy(Opaque* made) { return unmake_opaque(made); }
int cublasLtMatrixLayoutCreate(void** made) { return make(made); }
int cublasLtGroupedMatrixLayoutCreate(void** made) { return make(made); }
int cublasLtMatrixLayoutDestroy(Opaque* made) { return unmake_opaque(made); }
int cublasLtMatmulPreferenceCreate(void** made) { return make(made); }
int cublasLtMatmulPreferenceDestroy(Opaque* made) { return unmake_opaque(made); }
int cublasLtMatrixTransformDescCreate(void** made) { return make(made); }
int cublasLtMatrixTransformDescDestroy(Opaque* made) { return unmake_opaque(made); }
int cublasLtEmulationDescCreate(void** made) { return make(made); }
int cublasLtEmulationDescDestroy(Opaque* made) { return unmake_opaque(made); }

#define ZEROS(function)                                                                  \
  int function(const void*, int, void* value, std::size_t bytes, std::size_t* written) { \
    return answer_zeros(value, bytes, written);                                          \
  }
ZEROS(cublasLtMatmulDescGetAttribute)
ZEROS(cublasLtMatrixLayoutGetAttribute)
ZEROS(cublasLtMatmulPreferenceGetAttribute)
ZEROS(cublasLtMatrixTransformDescGetAttribute)
ZEROS(cublasLtEmulationDescGetAttribute)
ZEROS(cublasLtMatmulAlgoConfigGetAttribute)
ZEROS(cublasLtMatmulAlgoCapGetAttribute)
#undef ZEROS

int cublasLtMatmulAlgoGetHeuristic(void*, const void*, const void*, const void*, const void*,
                                   const void*, const void*, int asked, Proposal* proposals,
                                   int* given) {
  if (asked < 1 || proposals == nullptr || given == nullptr) return kInvalidValue;
  *given = 1;
  return propose(proposals);
}

int cublasLtMatmulAlgoGetIds(void*, int, int, int, int, int, int, int asked, int* ids, int* given) {
  if (asked < 1 || ids == nullptr) return kInvalidValue;
  *ids = 0;
  if (given != nullptr) *given = 1;
  return kSuccess;
}

int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int, void* algorithm) {
  return algorithm == nullptr ? kInvalidValue : answer_zeros(algorithm, kAlgorithmBytes, nullptr);
}

int cublasLtMatmulAlgoCheck(void*, const void*, const void*, const void*, const void*, const void*,
                            const void*, Proposal* proposal) {
  return propose(proposal);
}

// The last argument of both is the stream.
int cublasLtMatmul(void*, const void*, const void*, const void*, const void*, const void*,
                   const void*, const void*, const void*, const void*, void*, const void*,
                   const void*, void*, std::size_t, cudaStream_t stream) {
  enqueue_on(stream);
  return kSuccess;
}
int cublasLtMatrixTransform(void*, const void*, const void*, const void*, const void*, const void*,
                            const void*, const void*, void*, const void*, cudaStream_t stream) {
  enqueue_on(stream);
  return kSuccess;
}

std::size_t cublasLtGetVersion() { return kVersion; }
std::size_t cublasLtGetCudartVersion() { return VRAMSCOPE_CUDART_VERSION; }
const char* cublasLtGetStatusName(int status) { return name_of(status); }
const char* cublasLtGetStatusString(int status) { return name_of(status); }

int cublasLtGetProperty(int which, int* value) {
  if (value == nullptr || which < 0 || which > 2) return kInvalidValue;
  *value = which == 0 ? static_cast<int>(kVersion / 10000) : 0;
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
