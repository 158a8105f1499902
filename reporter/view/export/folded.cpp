// Folded stacks: a line for each stack, "GPU 0;main;make_weights;cudaMalloc 4096", outermost first,
// the kind of memory as its root.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "reporter/report/memory_name.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"

namespace vramscope {
namespace {

// A semicolon divides frames.
std::string name_in_line(const NamedFrame& frame) {
  std::string name = frame.function;
  std::replace(name.begin(), name.end(), ';', ',');
  return name;
}

}  // namespace

std::string write_folded(const Exported& exported, Output& output) {
  NamedStacks stacks(exported);
  std::map<std::string, std::uint64_t> lines;  // stacks may differ in what is not shown
  for (const LeakUsage& usage : exported.usage()) {
    for (const CostPart& part : parts_of(usage, exported.cost())) {
      std::string line = memory_name(exported.report(), usage.kind, usage.device);
      if (!part.holder.empty()) line += ";" + part.holder;
      const NamedStacks::Stack& stack = stacks.stack(usage.site);
      for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
        line += ";" + name_in_line(stacks.frame(*frame));
      }
      lines[line] += part.value;
    }
  }
  for (const auto& [line, value] : lines) output << line << " " << std::to_string(value) << "\n";
  return "";
}

}  // namespace vramscope
