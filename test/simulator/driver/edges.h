// Lists that programs ask of graphs, and what edges carry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

// The protocol of all lists: without room the count, with room as many as fit, the rest as null.
template <class Write>
CUresult list(std::size_t there, std::size_t* count, bool has_room, Write write) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t room = *count;
  if (has_room) {
    for (std::size_t i = 0; i < room; ++i) write(i, i < there);
  }
  *count = has_room ? std::min(room, there) : there;
  return CUDA_SUCCESS;
}

inline CUresult list_nodes(const std::vector<CUgraphNode>& there, CUgraphNode* nodes,
                           std::size_t* count) {
  return list(there.size(), count, nodes != nullptr,
              [&](std::size_t i, bool filled) { nodes[i] = filled ? there[i] : nullptr; });
}

// Whether a new node of that type may have these edges: a kernel may begin before the one that it
// depends on has ended (programmatic launch), on devices of compute capability 9.0 and more.
[[nodiscard]] CUresult check_carried(const CUgraphNode* from, const CUgraphEdgeData* edges,
                                     std::size_t count, CUgraphNodeType to);
// Keeps them: no kernel runs, so that nothing is ordered otherwise.
void carry(CUgraphNode to, const CUgraphNode* from, const CUgraphEdgeData* edges,
           std::size_t count);

}  // namespace vramscope::simulator
