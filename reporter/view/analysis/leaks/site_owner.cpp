// Asks the table of well-known libraries about the objects of a stack.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/site_owner.h"

#include "reporter/record/stack/owners.h"

namespace vramscope {

std::string owner_of_frame(const Report& report, std::uint32_t frame) {
  const std::uint32_t module = report.frames[frame].module;
  if (module >= report.modules.size()) return std::string(kUnknownOwner);
  const std::string& path = report.modules[module].path;
  return owner_of(path, path == report.process.executable);
}

std::string owner_of_site(const Report& report, const Site& site) {
  for (const std::uint32_t frame : site.frames) {
    if (frame >= report.frames.size()) continue;
    const std::uint32_t module = report.frames[frame].module;
    if (module >= report.modules.size() || only_passes_on(report.modules[module].path)) continue;
    return owner_of_frame(report, frame);
  }
  return std::string(kUnknownOwner);
}

}  // namespace vramscope
