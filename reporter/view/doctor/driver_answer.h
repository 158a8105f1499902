// ask_driver() starts a CUDA driver, in a process of its own, and says what it answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct DriverAnswer {
  std::string path;   // of the library's file; "": the loader finds none
  std::string error;  // one line of the loader's on why not
  int version = 0;    // 12040 is 12.4; 0: it does not say
  int code = 0;       // of cuInit
  std::string name;   // of that code: "CUDA_ERROR_NO_DEVICE"
  int devices = 0;
  int signal = 0;  // that ended the driver in cuInit, SIGALRM after kDriverSeconds; 0: none did
};
inline constexpr unsigned kDriverSeconds = 20;

// `library`: a path, or a name that the loader looks for. Threads: one, the only one of the
// process.
[[nodiscard]] DriverAnswer ask_driver(const std::string& library);

// Where the loader finds a library of that name; "": nowhere.
[[nodiscard]] std::string found_by_loader(const std::string& library);

}  // namespace vramscope
