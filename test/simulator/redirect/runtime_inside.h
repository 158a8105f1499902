// runtime_inside() finds NVIDIA's runtime inside an object by the names in its symbol table, and
// the simulated runtime that can replace it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope::simulator {

// A public function of the runtime inside an object.
struct RuntimeFunction {
  std::string name;
  std::uint64_t address = 0;  // in the file
  std::uint64_t room = 0;     // bytes that may be overwritten: its own, and the padding behind them
};

struct RuntimeInside {
  std::vector<RuntimeFunction> functions;  // empty: the object has no runtime
  std::string library;  // the file name of the simulated runtime, "libcudart.so.13"
  std::string problem;  // why nothing can be redirected; "": no problem
};

// Examines the object in the file at `path`, whose dynamic section is mapped at `dynamic` beyond
// the object's base. If the file says otherwise it is another one, and nothing is found. simulator:
// the folder with the simulated runtimes. Separate debug files are looked for where gdb looks: by
// build id below /usr/lib/debug, and by .gnu_debuglink next to the object.
[[nodiscard]] RuntimeInside runtime_inside(const std::string& path, std::uint64_t dynamic,
                                           const std::string& simulator);

// Rows of an object's exported symbols.
struct ExportRows {
  std::vector<RuntimeFunction> rows;  // their addresses in the place of the functions'
  int rights = 0;                     // of the memory in which they lie: PROT_READ ...
};

// Those that `library` has, too, and that the object has under a second name, with a "p" in front:
// NCCL's, by which a profiler calls them.
[[nodiscard]] ExportRows rows_to_replace(const std::string& path, std::uint64_t dynamic,
                                         const std::string& library);

}  // namespace vramscope::simulator
