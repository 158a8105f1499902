// Memory of other processes that this one has open.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/place.h"

namespace vramscope::simulator {

// Unmaps an import that has left the memory table; `start` is the address from cuIpcOpenMemHandle.
void end_import(Address start);

}  // namespace vramscope::simulator
