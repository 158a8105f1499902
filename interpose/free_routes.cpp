// Frees: memory of ours goes back to the allocator, all other memory to the driver.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/answers.h"
#include "interpose/real.h"
#include "interpose/routes.h"

namespace vramscope::routes {
namespace {

// `address` is inside a segment of ours.
CUresult free_ours(Call& call, Address address) {
  Profiler& profiler = call.profiler();
  if (profiler.waits_at_reuse()) {  // nothing else asks the driver whether it may be called
    if (const CUresult code = Contexts::check_current(); code != CUDA_SUCCESS) return code;
  }
  const Outcome outcome = profiler.allocator().free(address);
  call.note(outcome);
  return to_code(outcome.status);
}

// By a function for device memory; `real_free` is its real one for another address.
template <class RealFree>
CUresult free_device(Call& call, const DirectCall& direct, CUdeviceptr address,
                     RealFree real_free) {
  const Found found = find_ours(call.profiler().allocator(), address);
  if (!found.owned) return direct();
  if (found.where.kind == Kind::pinned) return real_free(unknown_address());  // cuMemFreeHost's
  return free_ours(call, address);
}

}  // namespace

CUresult cuMemFree_v2(Call& call, const DirectCall& direct, CUdeviceptr dptr) noexcept {
  return free_device(call, direct, dptr, real().cuMemFree_v2);
}

// The programming guide lets it take memory of cudaMalloc, so it takes ours.
CUresult cuMemFreeAsync(Call& call, const DirectCall& direct, CUdeviceptr dptr,
                        CUstream hStream) noexcept {
  return free_device(call, direct, dptr,
                     [=](CUdeviceptr other) { return real().cuMemFreeAsync(other, hStream); });
}
CUresult cuMemFreeAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr dptr,
                             CUstream hStream) noexcept {
  return free_device(call, direct, dptr,
                     [=](CUdeviceptr other) { return real().cuMemFreeAsync_ptsz(other, hStream); });
}

CUresult cuMemFreeHost(Call& call, const DirectCall& direct, void* p) noexcept {
  const Address address = to_address(p);
  const Found found = find_ours(call.profiler().allocator(), address);
  if (!found.owned) return direct();
  if (found.where.kind != Kind::pinned) return real().cuMemFreeHost(unknown_pointer());
  return free_ours(call, address);
}

}  // namespace vramscope::routes
