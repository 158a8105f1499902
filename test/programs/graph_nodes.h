// What the victims with memory nodes share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/programs/driver.h"

// The address of a new allocation node; its handle where that is wanted.
inline CUdeviceptr add_allocation(CUgraph graph, std::size_t bytes, CUgraphNode* node = nullptr) {
  CUgraphNode unused = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS told = {};
  told.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  told.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  told.poolProps.location.id = 0;
  told.bytesize = bytes;
  MUST(cuGraphAddMemAllocNode(node != nullptr ? node : &unused, graph, nullptr, 0, &told));
  return told.dptr;
}

// After `node`, unless that is null.
inline void add_free(CUgraph graph, CUdeviceptr address, CUgraphNode after = nullptr) {
  CUgraphNode node = nullptr;
  MUST(cuGraphAddMemFreeNode(&node, graph, &after, after != nullptr ? 1 : 0, address));
}

inline CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec executable = nullptr;
  MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
  return executable;
}
