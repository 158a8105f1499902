// export_folder() writes the tables of many reports and traces into one folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/view/command/export_input.h"

namespace vramscope {

// Of a format with is_folder. Reads one file at a time. Returns the exit code.
[[nodiscard]] int export_folder(const ExportArguments& arguments, const ExportFormat& format);

}  // namespace vramscope
