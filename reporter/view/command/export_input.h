// with_exported() opens what export is given: a report, or a trace as a report with its events.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reporter/view/command/verb.h"
#include "reporter/view/export/formats.h"

namespace vramscope {

struct ExportArguments {
  std::vector<std::string> files;
  std::string format;
  std::string output;
  bool forced = false;
  bool shared = false;
  std::string cost = "peak";
  StackChoice stacks;
  Filter filter;
  Reading reading;
};

// Of filters; format "": of none.
[[nodiscard]] FilterUse export_filters(const std::string& format);

// Receives what is exported, and the path of the trace that its events are from ("": it has none).
// Returns the exit code.
using UseExported = std::function<int(const Exported& exported, const std::string& trace)>;

// Has the file read and `use` called with it, once; says why not. A format with is_folder gets the
// events of the report's own trace, unless there is a filter. Returns the exit code.
[[nodiscard]] int with_exported(const ExportArguments& arguments, const ExportFormat& format,
                                const std::string& file, const UseExported& use);

}  // namespace vramscope
