// One run of a sequence of operations by the allocator and by its judge.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "test/model/operations.h"

namespace vramscope {

// What differs first: in what a call answers, or in a full snapshot, taken after every `every`
// operations and at the end.
[[nodiscard]] Failure run(const Scenario& scenario, const std::vector<Operation>& operations,
                          std::size_t every);

}  // namespace vramscope
