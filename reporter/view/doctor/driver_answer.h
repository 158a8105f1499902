// ask_driver() starts a CUDA driver in a child process and reports its answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct DriverAnswer {
  std::string path;  // of the library's file; "": the loader finds none that it can load
  int version = 0;   // 12040 is 12.4; 0: not known
  int code = 0;      // result of cuInit
  std::string name;  // name of that result: "CUDA_ERROR_NO_DEVICE"
  int devices = 0;
  int signal = 0;          // the signal that ended the driver in cuInit; 0: none
  bool is_silent = false;  // the driver gave no answer in time
};
inline constexpr unsigned kDriverSeconds = 20;

// Loads and starts the library in a child, which is killed after `seconds`. library: a path, or a
// name that the loader looks for. Threads: one, the only one of the process.
[[nodiscard]] DriverAnswer ask_driver(const std::string& library,
                                      unsigned seconds = kDriverSeconds);

}  // namespace vramscope
