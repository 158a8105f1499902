// ask_driver() starts a CUDA driver, in a process of its own, and says what it answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct DriverAnswer {
  std::string path;  // of the library's file; "": the loader finds none that it can load
  int version = 0;   // 12040 is 12.4; 0: it does not say
  int code = 0;      // of cuInit
  std::string name;  // of that code: "CUDA_ERROR_NO_DEVICE"
  int devices = 0;
  int signal = 0;          // that ended the driver in cuInit; 0: none did
  bool is_silent = false;  // it gave no answer in time
};
inline constexpr unsigned kDriverSeconds = 20;

// `library`: a path, or a name that the loader looks for. It is loaded and started, for at most so
// long, in a child that is killed then. Threads: one, the only one of the process.
[[nodiscard]] DriverAnswer ask_driver(const std::string& library,
                                      unsigned seconds = kDriverSeconds);

}  // namespace vramscope
