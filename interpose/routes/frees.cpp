// Frees give our memory back to the allocator, and all other memory to the driver.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fault.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/graph_nodes.h"
#include "interpose/routes/other_context.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

using Wait = CachingAllocator::Wait;

using Only = CachingAllocator::Only;

// Routes a free of `address`. If the address lies in a segment of ours but starts no live block
// that the function can free, the driver refuses, with its own choice of error: `refuse` frees an
// address that the driver cannot know.
template <class Refuse, class Foreign>
CUresult free_ours(Call& call, Address address, Wait when, Only only, Refuse refuse,
                   Foreign foreign) {
  Profiler& profiler = call.profiler();
  // Without a wait nothing else checks whether the driver may be called.
  if (profiler.waits_at_reuse() || profiler.captures().any()) {
    if (const CUresult code = profiler.contexts().check_current(); code != CUDA_SUCCESS) {
      return code;
    }
  }
  if (profiler.waits_at_reuse()) when = Wait::now;
  const Outcome outcome = profiler.allocator().free(address, when, only);
  if (outcome.status.result == Result::invalid) {
    return profiler.allocator().find(address).owned ? refuse() : foreign();
  }
  call.note(outcome);
  return to_code(outcome.status);
}

// Memory that a launch left behind ends when no executable holds it.
template <class RealFree>
CUresult free_not_ours(Call& call, const DirectCall& direct, CUdeviceptr address,
                       RealFree real_free) {
  GraphMemory& memory = call.profiler().graph_memory();
  if (!memory.any()) return direct();
  const GraphMemory::Number launch = memory.left_behind(address);
  if (launch == GraphMemory::none) return direct();
  (void)call.find(Kind::graph, address);
  const CUresult code = call.pass(real_free);
  if (code == CUDA_SUCCESS) memory.freed(address, launch);
  return code;
}

// Memory that the program had before an attachment has no record. Until the free the driver knows
// its size.
template <class RealFree>
CUresult free_foreign(Call& call, const DirectCall& direct, CUdeviceptr address,
                      RealFree real_free) {
  UnrecordedUse& use = call.profiler().unrecorded_use();
  if (!use.from_before().any()) return free_not_ours(call, direct, address, real_free);
  Place place;
  static_cast<void>(call.find_place(place));  // the first sample of the device is taken before
  const FromBefore::Block block = use.from_before().block_at(call.profiler().allocator(), address);
  const CUresult code = free_not_ours(call, direct, address, real_free);
  if (code == CUDA_SUCCESS) use.freed_from_before(block);
  return code;
}

// In a capture the free becomes a node, which can free only memory of graphs.
template <class RealFree>
CUresult capture_free(Call& call, CUgraph graph, CUdeviceptr address, RealFree real_free) {
  const CUresult code = call.pass(real_free);
  if (code == CUDA_SUCCESS) add_free_node(call, graph, address);
  return code;
}

// A stream-ordered free does not wait; the next allocation does. The driver checks the stream and
// what its capture allows.
template <class RealFree>
CUresult free_in_order(Call& call, const DirectCall& direct, CUdeviceptr address, CUstream stream,
                       bool per_thread, RealFree real_free) {
  const Found found = find_ours(call.profiler().allocator(), address);
  CUgraph graph = nullptr;
  if (call.profiler().captures().any()) graph = Captures::graph_of(stream, per_thread);
  if (!found.owned) {
    const auto as_it_is = [&] { return real_free(address, stream); };
    return graph != nullptr ? capture_free(call, graph, address, as_it_is)
                            : free_foreign(call, direct, address, as_it_is);
  }
  const auto refuse = [&] { return real_free(unknown_address(), stream); };
  if (found.where.kind == Kind::pinned) return refuse();
  if (graph != nullptr) return refuse();
  CUcontext context = nullptr;
  const CUresult code = real().cuStreamGetCtx(stream, &context);
  // Not supported (cuda.h): the stream of a green context, with some drivers.
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_SUPPORTED) return code;
  return free_ours(call, address, Wait::later, Only::device, refuse, refuse);
}

}  // namespace

namespace {

CUresult free_device(Call& call, const DirectCall& direct, CUdeviceptr dptr) {
  const auto foreign = [&] {
    return free_foreign(call, direct, dptr, [dptr] { return real().cuMemFree_v2(dptr); });
  };
  if (!call.profiler().allocator().may_own(dptr)) return foreign();
  const auto refuse = [] { return real().cuMemFree_v2(unknown_address()); };
  if (fault(Fault::interior_free)) {
    const Found found = call.profiler().allocator().find(dptr);
    if (found.live) dptr = found.block.address;
  }
  return free_ours(call, dptr, Wait::now, Only::device, refuse, foreign);
}

}  // namespace

namespace {

[[gnu::cold, gnu::noinline]] CUresult free_where_some_is_exported(Call& call,
                                                                  const DirectCall& direct,
                                                                  CUdeviceptr dptr) {
  const ExportedMemory::Piece exported = call.profiler().exported_memory().take(dptr);
  if (exported.bytes == 0) return free_device(call, direct, dptr);
  const ReleaseOfExported release(call.profiler(), exported.device);
  const CUresult code = free_device(call, direct, dptr);
  if (code == CUDA_SUCCESS) release.happened(exported.bytes);
  return code;
}

}  // namespace

CUresult cuMemFree_v2(Call& call, const DirectCall& direct, CUdeviceptr dptr) noexcept {
  if (call.profiler().exported_memory().any()) [[unlikely]]
    return free_where_some_is_exported(call, direct, dptr);
  return free_device(call, direct, dptr);
}

// By the programming guide it accepts memory of cudaMalloc, so it accepts ours.
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
  if (!call.profiler().allocator().may_own(address)) return direct();
  const auto refuse = [] { return real().cuMemFreeHost(unknown_pointer()); };
  return free_ours(call, address, Wait::now, Only::pinned, refuse, direct);
}

}  // namespace vramscope::routes
