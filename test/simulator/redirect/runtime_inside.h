// Finds NVIDIA's runtime inside an object by the names in its symbol table, and which of the
// simulated runtimes can answer in its place.
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
  std::uint64_t room = 0;     // bytes that may be written there: its own, and padding behind them
};

struct RuntimeInside {
  std::vector<RuntimeFunction> functions;  // empty: there is none
  std::string library;  // the file name of the simulated runtime, "libcudart.so.13"
  std::string problem;  // why nothing can be redirected; "": it can
};

// Of the object in the file at `path`, whose dynamic section is mapped at `dynamic` beyond the
// object's base: a file that says otherwise is another one, and nothing is found. `simulator` is
// the folder with the simulated runtimes. Separate debug files are looked for where gdb looks: by
// build id below /usr/lib/debug, and by .gnu_debuglink beside the object.
[[nodiscard]] RuntimeInside runtime_inside(const std::string& path, std::uint64_t dynamic,
                                           const std::string& simulator);

}  // namespace vramscope::simulator
