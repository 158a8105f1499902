// Handles that are none and addresses that nobody gave out: every function that takes one refuses.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/by_name.h"

static constexpr CUdeviceptr kNowhere = 0;
static CUdeviceptr address = 0;

static void memory() {
  const CUmemGenericAllocationHandle none{};
  CUmemGenericAllocationHandle handle{};
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int file = -1;
  CALL(cuMemRelease, none);
  CALL(cuMemRetainAllocationHandle, &handle, nullptr);
  CALL(cuMemExportToShareableHandle, &file, none, type, 0ull);
  CALL(cuMemImportFromShareableHandle, &handle, reinterpret_cast<void*>(-1L), type);
  CALL(cuMemMap, kNowhere, std::size_t{1} << 21, std::size_t{0}, none, 0ull);
  CALL(cuMemUnmap, kNowhere, std::size_t{1} << 21);
  CALL(cuMemAddressFree, kNowhere, std::size_t{1} << 21);
  CALL(cuMulticastAddDevice, none, 0);
  CALL(cuMulticastBindMem, none, std::size_t{0}, none, std::size_t{0}, std::size_t{1} << 21, 0ull);
  CALL(cuMulticastBindAddr, none, std::size_t{0}, kNowhere, std::size_t{1} << 21, 0ull);
  CALL(cuMulticastUnbind, none, 0, std::size_t{0}, std::size_t{1} << 21);
}

static void pools() {
  CUmemoryPool none = nullptr, pool = nullptr;
  CUmemPoolPtrExportData words;
  std::memset(&words, 0, sizeof words);
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int file = -1;
  CALL(cuMemPoolTrimTo, none, std::size_t{0});
  CALL(cuMemPoolDestroy, none);
  CALL(cuMemPoolExportToShareableHandle, &file, none, type, 0ull);
  CALL(cuMemPoolImportFromShareableHandle, &pool, reinterpret_cast<void*>(-1L), type, 0ull);
  CALL(cuMemPoolExportPointer, &words, kNowhere);
  CALL(cuMemPoolImportPointer, &address, none, &words);
}

static void arrays() {
  CUstream stream = nullptr;
  CUarrayMapInfo nothing;
  std::memset(&nothing, 0, sizeof nothing);
  CALL(cuArrayDestroy, CUarray{nullptr});
  CALL(cuMipmappedArrayDestroy, CUmipmappedArray{nullptr});
  CALL(cuMemMapArrayAsync, &nothing, 1u, stream);
  CALL(cuMemMapArrayAsync_ptsz, &nothing, 1u, stream);
}

static void graphs() {
  CUgraph none = nullptr;
  CUgraphNode node = nullptr;
  const CUgraphNode* alone = nullptr;
  CUgraphExec run = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters;
  CUgraphNodeParams any;
  CUDA_GRAPH_INSTANTIATE_PARAMS how;
  std::memset(&parameters, 0, sizeof parameters);
  std::memset(&any, 0, sizeof any);
  std::memset(&how, 0, sizeof how);
  any.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  CALL(cuGraphAddMemAllocNode, &node, none, alone, std::size_t{0}, &parameters);
  CALL(cuGraphAddMemFreeNode, &node, none, alone, std::size_t{0}, kNowhere);
  CALL(cuGraphAddNode, &node, none, alone, std::size_t{0}, &any);
  const CUgraphEdgeData* edges = nullptr;
  CALL(cuGraphAddNode_v2, &node, none, alone, edges, std::size_t{0}, &any);
  CALL(cuGraphInstantiateWithFlags, &run, none, 0ull);
  CALL(cuGraphInstantiateWithParams, &run, none, &how);
  CALL(cuGraphInstantiateWithParams_ptsz, &run, none, &how);
  CALL(cuGraphExecDestroy, run);
  CALL(cuGraphDestroy, none);
}

static void imports() {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC file;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer;
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels;
  std::memset(&file, 0, sizeof file);
  std::memset(&buffer, 0, sizeof buffer);
  std::memset(&levels, 0, sizeof levels);
  file.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  file.handle.fd = -1;
  file.size = buffer.size = 1 << 16;
  CUexternalMemory memory = nullptr;
  CUmipmappedArray array = nullptr;
  CUipcMemHandle other;
  std::memset(&other, 0, sizeof other);
  CALL(cuImportExternalMemory, &memory, &file);
  CALL(cuExternalMemoryGetMappedBuffer, &address, CUexternalMemory{nullptr}, &buffer);
  CALL(cuExternalMemoryGetMappedMipmappedArray, &array, CUexternalMemory{nullptr}, &levels);
  CALL(cuDestroyExternalMemory, CUexternalMemory{nullptr});
  CALL(cuIpcOpenMemHandle, &address, other, 1u);
  CALL(cuIpcOpenMemHandle_v2, &address, other, 1u);
  CALL(cuIpcCloseMemHandle, kNowhere);
}

int main() {
  start_by_name();
  memory();
  pools();
  arrays();
  graphs();
  imports();
}
