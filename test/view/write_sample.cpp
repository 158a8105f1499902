// write_sample FILE: the sample report as a file, for tests of the tool.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "reporter/report/json.h"
#include "test/view/sample_report.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto written = vramscope::write_report(vramscope::sample_report(), argv[1]);
  const auto* error = std::get_if<vramscope::FileError>(&written);
  if (error != nullptr) std::fprintf(stderr, "%s\n", error->message.c_str());
  return error == nullptr ? 0 : 1;
}
