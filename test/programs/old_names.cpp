// Calls the old and the per-thread versions of functions that headers no longer name.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/by_name.h"

static char memory[1 << 16];  // registered below

static void capture(CUstream stream) {
  CUgraph graph = nullptr;
  CALL(cuStreamBeginCapture, stream);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuStreamBeginCapture_ptsz, stream);
  CALL(cuStreamEndCapture_ptsz, stream, &graph);
  CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuStreamBeginCapture_v2_ptsz, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL(cuStreamEndCapture_ptsz, stream, &graph);
}

static void instantiate(CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CALL(cuStreamBeginCapture, stream);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuGraphInstantiate, &executable, graph, nullptr, nullptr, 0u);
  CALL(cuGraphExecDestroy, executable);
  CALL(cuGraphInstantiate_v2, &executable, graph, nullptr, nullptr, 0u);
  CALL(cuGraphExecDestroy, executable);
#if CUDA_VERSION >= 12000
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CALL(cuGraphInstantiateWithParams, &executable, graph, &parameters);
  CALL(cuGraphExecDestroy, executable);
  CALL(cuGraphInstantiateWithParams_ptsz, &executable, graph, &parameters);
  CALL(cuGraphExecDestroy, executable);
#endif
  CALL(cuGraphDestroy, graph);
}

int main() {
  open_driver();
  CUdevice device;
  CUcontext context = nullptr, old = nullptr;
  CALL(cuInit, 0);
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);

  unsigned short_total = 0;
  CALL(cuDeviceTotalMem, &short_total, device);
  CUdeviceptr_v1 short_address = 0;
  CALL(cuMemAlloc, &short_address, 1000000u);
  CALL(cuMemFree, short_address);
  unsigned free_bytes = 0, total_bytes = 0;
  CALL(cuMemGetInfo, &free_bytes, &total_bytes);
  CALL(cuMemGetAddressRange, nullptr, &total_bytes, short_address);
  unsigned pitch = 0;
  CALL(cuMemAllocPitch, &short_address, &pitch, 1000u, 10u, 4u);
  CALL(cuMemFree, short_address);
  void* pinned = nullptr;
  CALL(cuMemAllocHost, &pinned, 1000u);
  CALL(cuMemHostGetDevicePointer, &short_address, pinned, 0u);
  CALL(cuMemFreeHost, pinned);
  CALL(cuMemHostRegister, memory, sizeof memory, 0u);
  CALL(cuMemHostUnregister, memory);
  CUstream stream = nullptr, other = nullptr;
  CALL(cuStreamCreate, &stream, 0u);
  CALL(cuStreamCreate, &other, 0u);
  CUdeviceptr ordered = 0;
  CALL(cuMemAllocAsync_ptsz, &ordered, 1u << 20, stream);
  CALL(cuMemFreeAsync_ptsz, ordered, stream);
  CUmemoryPool pool = nullptr;
  CALL(cuDeviceGetDefaultMemPool, &pool, device);
  CALL(cuMemAllocFromPoolAsync, &ordered, 1u << 20, pool, stream);
  CALL(cuMemFreeAsync, ordered, stream);
  CALL(cuMemAllocFromPoolAsync_ptsz, &ordered, 1u << 20, pool, stream);
  CALL(cuMemFreeAsync_ptsz, ordered, stream);
  CALL(cuStreamSynchronize, stream);
  capture(stream);
  instantiate(stream);
  CALL(cuStreamDestroy, other);
  CALL(cuStreamDestroy_v2, stream);

  CALL(cuCtxCreate, &old, 0u, device);
  CALL(cuCtxDestroy, old);
#if CUDA_VERSION >= 13000
  CALL(cuCtxSetCurrent, context);
  CALL(cuCtxSynchronize_v2, context);
  CALL(cuCtxSynchronize_v2, nullptr);
#endif
  CALL(cuDevicePrimaryCtxReset, device);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuDevicePrimaryCtxRelease, device);
  CALL(cuDevicePrimaryCtxReset_v2, device);
  CALL(cuDevicePrimaryCtxRelease_v2, device);
}
