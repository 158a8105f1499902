// PerfMap has the names of generated code, from the map that just-in-time compilers leave for perf.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vramscope {

// /tmp/perf-PID.map: a line each of start and size in hexadecimal and a name. It is anybody's file:
// at most 64 MiB of an ordinary one are read, and lines that are no such lines are passed over.
class PerfMap {
 public:
  explicit PerfMap(std::int64_t pid);
  // Of the code before the return address; "" unknown.
  [[nodiscard]] std::string name_of(std::uint64_t return_address) const;

 private:
  struct Code {
    std::uint64_t bytes = 0;
    std::string name;
  };
  std::map<std::uint64_t, Code> codes_;  // by start
};

}  // namespace vramscope
