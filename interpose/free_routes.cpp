// Frees: memory of ours goes back to the allocator, all other memory to the driver.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/fault.h"
#include "interpose/answers.h"
#include "interpose/real.h"
#include "interpose/routes.h"

namespace vramscope::routes {
namespace {

using Wait = CachingAllocator::Wait;

// `address` is inside a segment of ours. What starts no live block is refused by the driver, for
// the reason that comes first to it: `refuse` frees an address that it cannot know.
template <class Refuse>
CUresult free_ours(Call& call, Address address, Wait when, Refuse refuse) {
  Profiler& profiler = call.profiler();
  // Without a wait nothing else asks the driver whether it may be called.
  if (profiler.waits_at_reuse() || profiler.captures().any()) {
    if (const CUresult code = profiler.contexts().check_current(); code != CUDA_SUCCESS) {
      return code;
    }
  }
  if (profiler.waits_at_reuse()) when = Wait::now;
  const Outcome outcome = profiler.allocator().free(address, when);
  if (outcome.status.result == Result::invalid) return refuse();
  call.note(outcome);
  return to_code(outcome.status);
}

// By a stream-ordered function, which does not wait: the next allocation does. The driver says
// whether there is such a stream, and what a capture of it allows.
template <class RealFree>
CUresult free_in_order(Call& call, const DirectCall& direct, CUdeviceptr address, CUstream stream,
                       bool per_thread, RealFree real_free) {
  const Found found = find_ours(call.profiler().allocator(), address);
  if (!found.owned) return direct();
  const auto refuse = [&] { return real_free(unknown_address(), stream); };
  if (found.where.kind == Kind::pinned) return refuse();  // cuMemFreeHost's
  const bool captures = call.profiler().captures().any();
  if (captures && Captures::graph_of(stream, per_thread) != nullptr) return refuse();
  CUcontext context = nullptr;
  if (const CUresult code = real().cuStreamGetCtx(stream, &context); code != CUDA_SUCCESS) {
    return code;
  }
  return free_ours(call, address, Wait::later, refuse);
}

}  // namespace

CUresult cuMemFree_v2(Call& call, const DirectCall& direct, CUdeviceptr dptr) noexcept {
  const Found found = find_ours(call.profiler().allocator(), dptr);
  if (!found.owned) return direct();
  const auto refuse = [] { return real().cuMemFree_v2(unknown_address()); };
  if (found.where.kind == Kind::pinned) return refuse();  // cuMemFreeHost's
  if (fault(Fault::interior_free)) dptr = found.live ? found.block.address : dptr;
  return free_ours(call, dptr, Wait::now, refuse);
}

// The programming guide lets it take memory of cudaMalloc, so it takes ours.
CUresult cuMemFreeAsync(Call& call, const DirectCall& direct, CUdeviceptr dptr,
                        CUstream hStream) noexcept {
  return free_in_order(call, direct, dptr, hStream, false, real().cuMemFreeAsync);
}
CUresult cuMemFreeAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr dptr,
                             CUstream hStream) noexcept {
  return free_in_order(call, direct, dptr, hStream, true, real().cuMemFreeAsync_ptsz);
}

CUresult cuMemFreeHost(Call& call, const DirectCall& direct, void* p) noexcept {
  const Address address = to_address(p);
  const Found found = find_ours(call.profiler().allocator(), address);
  if (!found.owned) return direct();
  const auto refuse = [] { return real().cuMemFreeHost(unknown_pointer()); };
  if (found.where.kind != Kind::pinned) return refuse();
  return free_ours(call, address, Wait::now, refuse);
}

}  // namespace vramscope::routes
