// Which GPUs processes held memory of, for a row of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/listing/cell_value.h"

namespace vramscope {

// By the process's own numbers.
[[nodiscard]] CellNumbers devices_of(const ReportOfProcess& one);

// "0, 1", as texts name them beside the host; "-" of none. Of any of these reports.
using DevicesText = std::function<std::string(const ReportOfProcess&)>;
[[nodiscard]] DevicesText devices_text(const std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
