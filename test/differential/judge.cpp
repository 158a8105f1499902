// Runs and compares.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/judge.h"

#include <filesystem>

#include "test/differential/configurations.h"

namespace vramscope::differential {

Server& Judge::server(const Configuration& configuration) {
  auto& found = servers_[configuration.name];
  if (!found) {
    const std::string folder = folder_ + "/" + std::to_string(servers_.size());
    std::filesystem::create_directory(folder);
    found = std::make_unique<Server>(installation_, configuration, folder);
  }
  return *found;
}

Run Judge::run_natively(const Sequence& sequence) { return server(modes().front()).run(sequence); }

Verdict Judge::compare(const Sequence& sequence, const std::vector<Configuration>& configurations) {
  const Run native = run_natively(sequence);
  for (const Configuration& configuration : configurations) {
    const Run ours = server(configuration).run(sequence);
    std::vector<std::string> found = differences(sequence, native, ours, configuration);
    if (!found.empty()) return {configuration.name, std::move(found)};
  }
  return {};
}

}  // namespace vramscope::differential
