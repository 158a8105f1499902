// Memory nodes of graphs, added by a call or by a captured stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/routes.h"

namespace vramscope::routes {

// Records a node of `graph` that requests memory at `where`, which a launch takes. Captures the
// stack.
void add_allocation_node(Call& call, CUgraph graph, Place where, CUdeviceptr address,
                         std::size_t bytes) noexcept;
// Records a node of `graph` that frees the memory at `address`.
void add_free_node(Call& call, CUgraph graph, CUdeviceptr address) noexcept;

}  // namespace vramscope::routes
