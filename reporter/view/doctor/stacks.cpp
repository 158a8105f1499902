// What call stacks, and the names in them, need.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "interpose/settings/options.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/system/library_search.h"

namespace vramscope {
namespace {

void examine_unwinder(Findings& findings) {
  const StackMethod method = parse_options(collect_settings(environ)).options.stacks;
  if (method == StackMethod::none) {
    return findings.limits("libunwind", "no call stacks are taken (VRAMSCOPE_STACKS=none)",
                           "unset it to see where memory is allocated");
  }
  const std::string path = found_by_loader("libunwind.so.8");
  if (!path.empty()) return findings.fine("libunwind", path);
  findings.limits("libunwind", "libunwind.so.8 was not found: stacks are taken by frame pointers",
                  "install libunwind8, or compile with -fno-omit-frame-pointer");
}

void examine_debuginfod(Findings& findings) {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  if (servers == nullptr || *servers == '\0') {
    return findings.fine("debuginfod",
                         "is not used for debug files of system libraries: "
                         "DEBUGINFOD_URLS is not set");
  }
  if (!found_by_loader("libdebuginfod.so.1").empty()) {
    return findings.fine("debuginfod", std::string(servers) + " are queried when a report is read");
  }
  findings.limits("debuginfod", "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 was not found",
                  "install libdebuginfod1");
}

}  // namespace

void examine_stacks(Findings& findings) {
  examine_unwinder(findings);
  examine_debuginfod(findings);
}

}  // namespace vramscope
