// Object files that a fuzzer makes, in which functions are looked for, and the names in them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/symbols.h"

#include "reporter/report/report.h"
#include "test/fuzz/fuzzed_file.h"

// libdw keeps a little of files that it refuses: it is not ours to free.
extern "C" const char* __lsan_default_suppressions() { return "leak:libdw.so\nleak:libelf.so\n"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  constexpr std::uint64_t kCode = 0x600;  // the seeds have theirs below
  constexpr std::uint64_t kStep = 16;
  constexpr std::size_t kLongName = 512;
  const FuzzedFile file({bytes, size});
  const ModuleFact module{.path = file.path(), .build_id = "", .base = 0};
  Symbols symbols;
  for (std::uint64_t offset = 1; offset < kCode; offset += kStep) {
    for (const SourceFrame& frame : symbols.resolve(module, offset).functions) {
      static_cast<void>(shorten(frame.function));
    }
  }
  const std::string name(reinterpret_cast<const char*>(bytes), std::min(size, kLongName));
  static_cast<void>(shorten(demangle(name)));
  return 0;
}
