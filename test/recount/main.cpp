// recount [--amid-calls] FILE...: what is wrong with the reports of one process, in their order.
// SPDX-License-Identifier: Apache-2.0
//
// Says one line a problem on standard output; "-" is standard input. Exit status: 0 fine, 1 a
// problem, 2 a file that is no report.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string_view>

#include "test/recount/recount.h"

namespace {

using namespace vramscope::judge;

Json read(const std::string& path) {
  if (path == "-") return Json::parse(std::cin);
  std::ifstream file(path);
  return Json::parse(file);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> paths(arguments + 1, arguments + count);
  Taken taken = Taken::between_calls;
  if (!paths.empty() && paths[0] == "--amid-calls") {
    taken = Taken::amid_calls;
    paths.erase(paths.begin());
  }
  History history;
  std::size_t problems = 0;
  for (const std::string& path : paths) {
    try {
      const Json report = read(path);
      for (const Problems& found : {recount(report, taken), history.next(report)}) {
        for (const std::string& text : found) std::printf("%s\n", text.c_str());
        problems += found.size();
      }
    } catch (const std::exception& error) {
      std::printf("%s is no report: %s\n", path.c_str(), error.what());
      return 2;
    }
  }
  return problems == 0 ? 0 : 1;
}
