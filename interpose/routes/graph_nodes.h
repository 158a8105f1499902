// Memory nodes of graphs, whether a call adds them or a captured stream does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/routes.h"

namespace vramscope::routes {

// A node of `graph` asks for memory at `where`; a launch takes it. Takes the stack.
void add_allocation_node(Call& call, CUgraph graph, Place where, CUdeviceptr address,
                         std::size_t bytes) noexcept;
// A node of `graph` frees what starts at `address`.
void add_free_node(Call& call, CUgraph graph, CUdeviceptr address) noexcept;

}  // namespace vramscope::routes
