// What nodes do: their parameters, checked and made ready.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

CUresult make_kernel(NodeContent& content) {
  CUDA_KERNEL_NODE_PARAMS_v3& kernel = content.parameters.kernel;
  // A kernel is a function under another name (driver_modules.cpp).
  if (kernel.func == nullptr) kernel.func = reinterpret_cast<CUfunction>(kernel.kern);
  if (!is_function(kernel.func)) return CUDA_ERROR_INVALID_VALUE;
  const bool shaped = kernel.gridDimX != 0 && kernel.gridDimY != 0 && kernel.gridDimZ != 0 &&
                      kernel.blockDimX != 0 && kernel.blockDimY != 0 && kernel.blockDimZ != 0;
  return shaped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult make_copy(NodeContent& content) {
  Copy copy;
  const CUresult result = read(content.parameters.memcpy.copyParams, copy);
  if (result != CUDA_SUCCESS) return result;
  Plan planned = plan(copy, Purpose::node);
  content.work = std::move(planned.work);
  return planned.result;
}

// Memory of pools is refused (programming guide 4.3.5.3); a capture takes it.
CUresult make_fill(NodeContent& content) {
  Fill fill;
  const CUresult result = read(content.parameters.memset, fill);
  if (result != CUDA_SUCCESS) return result;
  const auto known = driver().memory.find(fill.to.start);
  if (known && known->pool != nullptr) return CUDA_ERROR_INVALID_VALUE;
  Plan planned = plan(fill, Purpose::node);
  content.work = std::move(planned.work);
  return planned.result;
}

CUresult make_host(NodeContent& content) {
  const CUDA_HOST_NODE_PARAMS_v2 host = content.parameters.host;
  if (host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  content.work = [host] { host.fn(host.userData); };
  return CUDA_SUCCESS;
}

// The child is a copy, or the given graph when it moves in.
CUresult make_child(NodeContent& content, CUgraph parent) {
  CUDA_CHILD_GRAPH_NODE_PARAMS& told = content.parameters.graph;
  auto given = graphs().find(told.graph);
  if (!given || given.get() == parent || given->capturing) return CUDA_ERROR_INVALID_VALUE;
  const bool moves = told.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if (moves && given->is_child) return CUDA_ERROR_INVALID_VALUE;
  if (!moves && has_memory_nodes(*given)) return CUDA_ERROR_NOT_SUPPORTED;
  content.child = moves ? std::move(given) : copy_of(*given);
  content.child->is_child = true;
  told.graph = moves ? told.graph : graphs().add(content.child);
  return CUDA_SUCCESS;
}

CUresult make_allocation(NodeContent& content, CUgraph graph) {
  CUDA_MEM_ALLOC_NODE_PARAMS_v2& told = content.parameters.alloc;
  const CUmemPoolProps& properties = told.poolProps;
  if (told.bytesize == 0 || properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      told.accessDescCount > driver().devices.size() ||
      (told.accessDescCount != 0 && told.accessDescs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  const Device* device = driver().device(properties.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (told.bytesize > device->accounts.capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto made = make_graph_allocation(device->ordinal, told.bytesize);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  made->owner = graph;
  made->access.assign(told.accessDescs, told.accessDescs + told.accessDescCount);
  told.accessDescs = made->access.data();
  told.dptr = made->start;
  content.memory = std::move(made);
  return CUDA_SUCCESS;
}

// One graph frees an allocation, once.
CUresult make_free(NodeContent& content, CUgraph graph) {
  auto found = graph_allocation_at(content.parameters.free.dptr);
  if (!found || found->freed_in != nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->freed_in = graph;
  content.memory = std::move(found);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult make_content(NodeContent& content, CUgraph graph) {
  switch (content.parameters.type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return make_kernel(content);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return make_copy(content);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return make_fill(content);
    case CU_GRAPH_NODE_TYPE_HOST:
      return make_host(content);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return make_child(content, graph);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return events().find(content.parameters.eventRecord.event) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return make_allocation(content, graph);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return make_free(content, graph);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace vramscope::simulator
