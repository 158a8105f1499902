// PerfMap has the names of generated code from the map that just-in-time compilers write for perf.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vramscope {

// Reads /tmp/perf-PID.map: a line for each name, with start and size in hexadecimal. Anybody may
// have written the file, so at most 64 MiB of a regular file are read, and malformed lines are
// skipped.
class PerfMap {
 public:
  explicit PerfMap(std::int64_t pid);
  // Returns the name of the code before the return address; "": unknown.
  [[nodiscard]] std::string name_of(std::uint64_t return_address) const;

 private:
  struct Code {
    std::uint64_t bytes = 0;
    std::string name;
  };
  std::map<std::uint64_t, Code> codes_;  // by start
};

}  // namespace vramscope
