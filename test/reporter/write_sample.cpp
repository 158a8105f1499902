// Writes the sample report to the path given, or with --names prints the names that reports may
// have, a list a line: for tests in other languages.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <span>
#include <string_view>

#include "allocator/base/snapshot.h"
#include "reporter/base/axes.h"
#include "reporter/report/assemble.h"
#include "reporter/report/cupti_facts.h"
#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "test/reporter/sample.h"

namespace {

void print(const char* what, std::span<const std::string_view> names) {
  std::printf("%s", what);
  for (const std::string_view name : names) std::printf(" %s", name.data());
  std::printf("\n");
}

int print_names() {
  print("kind", vramscope::kKindNames);
  print("axis", vramscope::kAxisNames);
  print("state", vramscope::kBlockStateNames);
  print("what", vramscope::kDisagreementNames);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace vramscope;
  if (count != 2) return 2;
  if (std::string_view(arguments[1]) == "--names") return print_names();
  Report report = assemble(sample_parts());
  report.symbols = SymbolFacts{.names = {"std::vector<float>::reserve", "load(int)"},
                               .files = {"/src/train.cpp"},
                               .frames = {{.frame = 0,
                                           .functions = {{.name = 0, .is_inlined = true},
                                                         {.name = 1, .file = 0, .line = 42}}}}};
  const auto result = write_report(report, arguments[1]);
  if (const FileError* error = std::get_if<FileError>(&result)) {
    std::fprintf(stderr, "%s\n", error->message.c_str());
    return 1;
  }
  return 0;
}
