// The stand-in for cuFFT: plans, and the work area that each takes.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <map>
#include <mutex>
#include <span>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cufftResult
constexpr int kInvalidPlan = 1;
constexpr int kAllocationFailed = 2;
constexpr int kInvalidType = 3;
constexpr int kInvalidValue = 4;
constexpr int kInvalidSize = 8;
constexpr int kVersion = VRAMSCOPE_LIBRARY_VERSION;

constexpr int kDoublePrecision = 0x40;  // a bit of cufftType

struct Plan {
  bool allocates = true;
  void* area = nullptr;
  std::size_t bytes = 0;
  cudaStream_t stream = nullptr;
};

std::mutex mutex;
std::map<int, Plan>& plans() {
  static auto* all = new std::map<int, Plan>;  // programs destroy plans while they end
  return *all;
}
int made_so_far = 0;
std::atomic_flag said_modelled;

int make(int* made) {
  if (made == nullptr) return kInvalidValue;
  say_modelled(said_modelled,
               "cuFFT is a stand-in on the simulated device: its memory is modelled (a work area "
               "as large as the data, as complex numbers), its kernels are not executed");
  const std::scoped_lock lock(mutex);
  *made = ++made_so_far;
  plans()[*made] = {};
  return kSuccess;
}

// NVIDIA documents 1 to 8 complex numbers for each point; the least is taken here.
template <typename Length>
int work_bytes(std::span<const Length> lengths, long long batch, std::size_t each,
               std::size_t* bytes) {
  if (each == 0) return kInvalidType;
  if (bytes == nullptr) return kInvalidValue;
  if (batch < 1) return kInvalidSize;
  std::size_t product = each;
  bool overflows = __builtin_mul_overflow(product, batch, &product);
  for (const Length length : lengths) {
    if (length < 1) return kInvalidSize;
    overflows = __builtin_mul_overflow(product, length, &product) || overflows;
  }
  if (overflows) return kInvalidSize;
  *bytes = product;
  return kSuccess;
}

std::size_t complex_bytes(int type) { return type & kDoublePrecision ? 16 : 8; }

// Of a cudaDataType; 0: no transform is executed in it.
std::size_t complex_bytes_of(int type) {
  switch (type) {
    case CUDA_C_16F:
    case CUDA_C_16BF:
      return 4;
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

template <typename Length>
int plan_work(int handle, int rank, const Length* lengths, long long batch, std::size_t each,
              std::size_t* asked) {
  if (lengths == nullptr) return kInvalidValue;
  if (rank < 1 || rank > 3) return kInvalidSize;
  std::size_t bytes = 0;
  const std::span<const Length> all(lengths, static_cast<std::size_t>(rank));
  if (const int status = work_bytes(all, batch, each, &bytes); status != kSuccess) return status;
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end() || plan->second.bytes != 0) return kInvalidPlan;
  if (plan->second.allocates && cudaMalloc(&plan->second.area, bytes) != cudaSuccess)
    return kAllocationFailed;
  plan->second.bytes = bytes;
  if (asked != nullptr) *asked = bytes;
  return kSuccess;
}

template <typename... Lengths>
int estimate(int type, long long batch, std::size_t* bytes, Lengths... lengths) {
  const int all[] = {lengths...};
  return work_bytes<int>(all, batch, complex_bytes(type), bytes);
}

template <typename... Lengths>
int plan_some(int handle, int type, long long batch, std::size_t* bytes, Lengths... lengths) {
  const int all[] = {lengths...};
  return plan_work(handle, sizeof...(lengths), all, batch, complex_bytes(type), bytes);
}

template <typename Length>
int estimate_many(int rank, const Length* lengths, long long batch, std::size_t each,
                  std::size_t* bytes) {
  if (lengths == nullptr) return kInvalidValue;
  if (rank < 1 || rank > 3) return kInvalidSize;
  return work_bytes<Length>({lengths, static_cast<std::size_t>(rank)}, batch, each, bytes);
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cufftCreate(int* made) { return make(made); }

int cufftDestroy(int handle) {
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  cudaFree(plan->second.area);
  plans().erase(plan);
  return kSuccess;
}

int cufftSetAutoAllocation(int handle, int allocates) {
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  plan->second.allocates = allocates != 0;
  return kSuccess;
}

// The plan gives back what it took.
int cufftSetWorkArea(int handle, void*) {
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  cudaFree(plan->second.area);
  plan->second.area = nullptr;
  return kSuccess;
}

int cufftSetStream(int handle, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  plan->second.stream = stream;
  return kSuccess;
}

// The work of a plan, wherever its data lies.
static int execute(int handle) {
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  enqueue_on(plan->second.stream);
  return kSuccess;
}
#define EXECUTE(function) \
  int function(int handle) { return execute(handle); }
EXECUTE(cufftExecC2C)
EXECUTE(cufftExecC2R)
EXECUTE(cufftExecD2Z)
EXECUTE(cufftExecR2C)
EXECUTE(cufftExecZ2D)
EXECUTE(cufftExecZ2Z)
EXECUTE(cufftXtExec)
#undef EXECUTE

int cufftGetSize(int handle, std::size_t* bytes) {
  if (bytes == nullptr) return kInvalidValue;
  const std::scoped_lock lock(mutex);
  const auto plan = plans().find(handle);
  if (plan == plans().end()) return kInvalidPlan;
  *bytes = plan->second.bytes;
  return kSuccess;
}

int cufftEstimate1d(int x, int type, int batch, std::size_t* bytes) {
  return estimate(type, batch, bytes, x);
}
int cufftEstimate2d(int x, int y, int type, std::size_t* bytes) {
  return estimate(type, 1, bytes, x, y);
}
int cufftEstimate3d(int x, int y, int z, int type, std::size_t* bytes) {
  return estimate(type, 1, bytes, x, y, z);
}
int cufftEstimateMany(int rank, const int* lengths, void*, int, int, void*, int, int, int type,
                      int batch, std::size_t* bytes) {
  return estimate_many(rank, lengths, batch, complex_bytes(type), bytes);
}
int cufftGetSize1d(int, int x, int type, int batch, std::size_t* bytes) {
  return estimate(type, batch, bytes, x);
}
int cufftGetSize2d(int, int x, int y, int type, std::size_t* bytes) {
  return estimate(type, 1, bytes, x, y);
}
int cufftGetSize3d(int, int x, int y, int z, int type, std::size_t* bytes) {
  return estimate(type, 1, bytes, x, y, z);
}
int cufftGetSizeMany(int, int rank, const int* lengths, void*, int, int, void*, int, int, int type,
                     int batch, std::size_t* bytes) {
  return estimate_many(rank, lengths, batch, complex_bytes(type), bytes);
}
int cufftGetSizeMany64(int, int rank, const long long* lengths, void*, long long, long long, void*,
                       long long, long long, int type, long long batch, std::size_t* bytes) {
  return estimate_many(rank, lengths, batch, complex_bytes(type), bytes);
}
int cufftXtGetSizeMany(int, int rank, const long long* lengths, void*, long long, long long, int,
                       void*, long long, long long, int, long long batch, std::size_t* bytes,
                       int type) {
  return estimate_many(rank, lengths, batch, complex_bytes_of(type), bytes);
}

int cufftMakePlan1d(int plan, int x, int type, int batch, std::size_t* bytes) {
  return plan_some(plan, type, batch, bytes, x);
}
int cufftMakePlan2d(int plan, int x, int y, int type, std::size_t* bytes) {
  return plan_some(plan, type, 1, bytes, x, y);
}
int cufftMakePlan3d(int plan, int x, int y, int z, int type, std::size_t* bytes) {
  return plan_some(plan, type, 1, bytes, x, y, z);
}
int cufftMakePlanMany(int plan, int rank, const int* lengths, void*, int, int, void*, int, int,
                      int type, int batch, std::size_t* bytes) {
  return plan_work(plan, rank, lengths, batch, complex_bytes(type), bytes);
}
int cufftMakePlanMany64(int plan, int rank, const long long* lengths, void*, long long, long long,
                        void*, long long, long long, int type, long long batch,
                        std::size_t* bytes) {
  return plan_work(plan, rank, lengths, batch, complex_bytes(type), bytes);
}
int cufftXtMakePlanMany(int plan, int rank, const long long* lengths, void*, long long, long long,
                        int, void*, long long, long long, int, long long batch, std::size_t* bytes,
                        int type) {
  return plan_work(plan, rank, lengths, batch, complex_bytes_of(type), bytes);
}

// These make the handle, too; a plan that cannot be made leaves none.
static int kept_if(int status, const int* made) {
  if (status != kSuccess) cufftDestroy(*made);
  return status;
}
int cufftPlan1d(int* made, int x, int type, int batch) {
  if (const int status = make(made); status != kSuccess) return status;
  return kept_if(plan_some(*made, type, batch, nullptr, x), made);
}
int cufftPlan2d(int* made, int x, int y, int type) {
  if (const int status = make(made); status != kSuccess) return status;
  return kept_if(plan_some(*made, type, 1, nullptr, x, y), made);
}
int cufftPlan3d(int* made, int x, int y, int z, int type) {
  if (const int status = make(made); status != kSuccess) return status;
  return kept_if(plan_some(*made, type, 1, nullptr, x, y, z), made);
}
int cufftPlanMany(int* made, int rank, const int* lengths, void*, int, int, void*, int, int,
                  int type, int batch) {
  if (const int status = make(made); status != kSuccess) return status;
  return kept_if(plan_work(*made, rank, lengths, batch, complex_bytes(type), nullptr), made);
}

int cufftGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}
int cufftGetProperty(int which, int* value) {
  if (value == nullptr || which < 0 || which > 2) return kInvalidValue;
  *value = which == 0 ? kVersion / 1000 : 0;
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
