// Entry points whose parameters changed between the major versions of the runtime, in their older
// form. Names as in functions.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/simulator/runtime/runtime.h"

namespace cudart::older {

// The same functions under other names.
using runtime::cudaDeviceReset;
using runtime::cudaDeviceSynchronize;
using runtime::cudaMemAdvise;
using runtime::cudaMemPrefetchAsync;
using runtime::cudaStreamGetCaptureInfo;

// Up to version 12 cudaGetDeviceProperties; and cudaGetDeviceProperties_v2 of 12.
cudaError_t properties_11(void* properties, int device);
cudaError_t properties_12(void* properties, int device);

// Up to version 12: a device by its number, cudaCpuDeviceId (-1) for the host.
cudaError_t prefetch_12(const void* pointer, std::size_t bytes, int device, cudaStream_t stream);
cudaError_t advise_12(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device);

// Up to version 12; and cudaStreamGetCaptureInfo_v2.
cudaError_t capture_info_11(cudaStream_t stream, cudaStreamCaptureStatus* status,
                            unsigned long long* id);
cudaError_t capture_info_12(cudaStream_t stream, cudaStreamCaptureStatus* status,
                            unsigned long long* id, cudaGraph_t* graph,
                            const cudaGraphNode_t** nodes, std::size_t* count);

// Of version 11.
cudaError_t instantiate_11(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* wrong,
                           char* log, std::size_t bytes);
cudaError_t update_11(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t* wrong,
                      cudaGraphExecUpdateResult* result);
cudaError_t entry_point_11(const char* symbol, void** function, unsigned long long flags);

}  // namespace cudart::older
