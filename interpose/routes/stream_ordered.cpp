// Records stream-ordered memory and its pools. While the stream is captured, the memory belongs to
// a graph.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/real.h"
#include "interpose/routes/graph_nodes.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// Returns the place on the stream's device, which need not be the current one.
Place stream_place(Call& call, CUstream stream) {
  Place where = call.place_of(Kind::stream_ordered);
  const bool is_default =
      stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  CUcontext context = nullptr;
  Place of_stream;
  if (is_default || real().cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return where;
  if (!call.profiler().contexts().find(context, of_stream)) return where;
  return in_context(Kind::stream_ordered, of_stream.device, of_stream.context);
}

// `pool`: null for the current pool of the stream's device. With a pool the memory is on the pool's
// device, also for a graph (cuda.h, cuMemAllocFromPoolAsync).
CUresult allocate_in_order(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                           std::size_t bytes, CUstream stream, bool per_thread, CUmemoryPool pool) {
  Profiler& profiler = call.profiler();
  Place where = stream_place(call, stream);
  if (pool != nullptr)
    where.device = profiler.pool_devices().device_of(pool).value_or(where.device);
  // Asked before the call, because another thread may end the capture after it.
  CUgraph graph = nullptr;
  if (profiler.captures().any()) graph = Captures::graph_of(stream, per_thread);
  const CUresult code = bounded(call, direct, bytes, where);
  if (code != CUDA_SUCCESS) return code;
  if (graph == nullptr) {
    if (pool == nullptr) profiler.pool_devices().served(where.device);
    return call.adopt(where, *dptr, bytes), code;
  }
  where.kind = Kind::graph;
  add_allocation_node(call, graph, where, *dptr, bytes);
  return code;
}

}  // namespace

CUresult cuMemAllocAsync(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                         std::size_t bytesize, CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, false, nullptr);
}
CUresult cuMemAllocAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                              std::size_t bytesize, CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, true, nullptr);
}
CUresult cuMemAllocFromPoolAsync(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                                 std::size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, false, pool);
}
CUresult cuMemAllocFromPoolAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                                      std::size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, true, pool);
}

CUresult cuMemPoolCreate(Call& call, const DirectCall& direct, CUmemoryPool* pool,
                         const CUmemPoolProps* poolProps) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().pool_devices().created(*pool, *poolProps);
  return code;
}
CUresult cuMemPoolDestroy(Call& call, const DirectCall& direct, CUmemoryPool pool) noexcept {
  PoolDevices& pools = call.profiler().pool_devices();
  const PoolDevices::Ending ending = pools.ending(pool);
  const CUresult code = direct();
  code == CUDA_SUCCESS ? pools.destroyed(pool, ending) : pools.not_destroyed(pool, ending);
  return code;
}

}  // namespace vramscope::routes
