// Reads fat binaries.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/announced_code.h"

#include "test/simulator/device/fat_binary.h"

namespace cudart {

namespace sim = vramscope::simulator;

AnnouncedCode::Code& AnnouncedCode::code_of(void** binary) {
  const auto [found, is_new] = read_.try_emplace(binary);
  if (is_new && binary != nullptr) {
    const std::string code = sim::code_in(binary);
    found->second = {.variables = sim::variables_of(code), .parameters = sim::parameters_of(code)};
  }
  return found->second;
}

std::string AnnouncedCode::initial_value(void** binary, const std::string& variable) {
  const sim::Variables& all = code_of(binary).variables;
  const auto found = all.find(variable);
  return found == all.end() ? std::string() : found->second.initial;
}

std::optional<std::vector<sim::Parameter>> AnnouncedCode::parameters(void** binary,
                                                                     const std::string& kernel) {
  const sim::Parameters& all = code_of(binary).parameters;
  const auto found = all.find(kernel);
  if (found == all.end()) return std::nullopt;
  return found->second;
}

}  // namespace cudart
