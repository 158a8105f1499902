// Says that what is compared is of different GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/diff/other_gpus.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

// "GPU 0 was GPU-1a2b3c4d of node1, and is GPU-5e6f7a8b of node2: different devices, compared by
// their number."; "": all are the same.
[[nodiscard]] std::string other_gpus_text(const std::vector<OtherGpu>& others);

[[nodiscard]] Columns<OtherGpu> other_gpu_columns();

}  // namespace vramscope
