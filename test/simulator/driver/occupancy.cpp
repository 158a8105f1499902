// How much of a kernel a multiprocessor holds: by threads, for no kernel here needs registers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr int kFirstWithClusters = 9;     // of major compute capabilities
constexpr unsigned kPortableCluster = 8;  // blocks, on each such device (CUDA programming guide)
// Of a block's shared memory, since compute capability 8.0 (CUDA programming guide).
constexpr int kReservedShared = 1024;

CUresult occupancy(int* blocks, int block_size) {
  if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = block_size > 1024 ? 0 : configuration().model.multiprocessor_threads / block_size;
  return CUDA_SUCCESS;
}

// The blocks of a cluster, as a launch asks for them.
unsigned cluster_of(const CUlaunchConfig& config) {
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& size = config.attrs[i].value.clusterDim;
    return size.x * size.y * size.z;
  }
  return 1;
}

CUresult refuse_clusters(const void* into, CUfunction function, const CUlaunchConfig* config) {
  if (into == nullptr || config == nullptr || !is_function(function))
    return CUDA_ERROR_INVALID_VALUE;
  return configuration().model.major < kFirstWithClusters ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size,
                                                     std::size_t) {
  return occupancy(blocks, block_size);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction,
                                                              int block_size, std::size_t,
                                                              unsigned) {
  return occupancy(blocks, block_size);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction, CUoccupancyB2DSize,
                                          std::size_t, int limit) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  const Model& model = configuration().model;
  *grid = model.multiprocessors * (model.multiprocessor_threads / 1024);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared, std::size_t bytes,
                                                   int limit, unsigned) {
  return body::cuOccupancyMaxPotentialBlockSize(grid, block, function, shared, bytes, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, CUfunction function,
                                                 int blocks, int block_size) {
  if (bytes == nullptr || blocks < 1 || block_size < 1 || !is_function(function))
    return CUDA_ERROR_INVALID_VALUE;
  const Model& model = configuration().model;
  const int reserved = model.major < 8 ? 0 : kReservedShared;
  const int each = model.multiprocessor_shared / blocks - reserved;
  *bytes = static_cast<std::size_t>(std::clamp(each, 0, model.block_shared));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                            const CUlaunchConfig* config) {
  if (const CUresult no = refuse_clusters(blocks, function, config); no != CUDA_SUCCESS) return no;
  *blocks = kPortableCluster;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  if (const CUresult no = refuse_clusters(clusters, function, config); no != CUDA_SUCCESS)
    return no;
  const unsigned blocks = cluster_of(*config);
  if (blocks == 0 || blocks > kPortableCluster) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  int each = 0;  // blocks on a multiprocessor
  const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  const CUresult result = occupancy(&each, static_cast<int>(threads));
  if (result == CUDA_SUCCESS)
    *clusters = configuration().model.multiprocessors * each / static_cast<int>(blocks);
  return result;
}

}  // namespace body

}  // namespace vramscope::simulator
