// AnnouncedCode is what the code of binaries says of their variables and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/simulator/device/code_variables.h"
#include "test/simulator/device/kernel_parameters.h"

namespace cudart {

// A binary is what __cudaRegisterFatBinary() returned. Its code is read and unpacked at the first
// question. Threads: one at a time.
class AnnouncedCode {
 public:
  // Returns the first bytes of a variable; all others are 0.
  [[nodiscard]] std::string initial_value(void** binary, const std::string& variable);
  // Returns nothing if the code does not say.
  [[nodiscard]] std::optional<std::vector<vramscope::simulator::Parameter>> parameters(
      void** binary, const std::string& kernel);
  void forget(void** binary) { read_.erase(binary); }

 private:
  struct Code {
    vramscope::simulator::Variables variables;
    vramscope::simulator::Parameters parameters;
  };
  [[nodiscard]] Code& code_of(void** binary);

  std::map<void**, Code> read_;
};

}  // namespace cudart
