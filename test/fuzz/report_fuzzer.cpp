// Reports that a fuzzer makes.
// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "test/fuzz/fuzzed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const FuzzedFile file({bytes, size});
  const auto result = read_report(file.path());
  if (const auto* error = std::get_if<FileError>(&result)) demand_one_line(error->message);
  return 0;
}
