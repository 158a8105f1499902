// ModuleVariables is the variables of a module, and the memory that they have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test/simulator/device/code_variables.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Threads: one at a time. Its memory is given back by end().
class ModuleVariables {
 public:
  ModuleVariables() = default;
  // Of code that is an ELF file or PTX.
  explicit ModuleVariables(std::string_view code) : declared_(variables_of(code)) {}

  struct Place {
    CUdeviceptr address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t buffer_id = 0;  // an address may be another's once the context has ended
  };
  // Gives all of them memory of the context, with their initial values. What has been placed stays
  // when it fails.
  [[nodiscard]] CUresult place_all(CUcontext context);
  // Finds a variable, which gets memory of the context if it has none. NOT_FOUND: there is none of
  // that name.
  [[nodiscard]] CUresult find(const std::string& name, CUcontext context, Place& place);
  void end();

 private:
  [[nodiscard]] static CUresult place(const Variable& variable, CUcontext context, Place& place);

  Variables declared_;
  std::map<std::string, Place> placed_;
};

}  // namespace vramscope::simulator
