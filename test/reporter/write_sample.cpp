// Writes the sample report to the path given: for tests in other languages.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "reporter/report/json.h"
#include "test/reporter/sample.h"

int main(int count, char** arguments) {
  using namespace vramscope;
  if (count != 2) return 2;
  const auto result = write_report(assemble(sample_parts()), arguments[1]);
  if (const FileError* error = std::get_if<FileError>(&result)) {
    std::fprintf(stderr, "%s\n", error->message.c_str());
    return 1;
  }
  return 0;
}
