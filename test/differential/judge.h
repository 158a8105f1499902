// Plays a sequence natively and in modes of ours, and tells what differs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/differential/comparison.h"
#include "test/differential/server.h"

namespace vramscope::differential {

struct Verdict {
  std::string configuration;  // in which it differs; empty: in none
  std::vector<std::string> differences;
};

// Threads: one at a time.
class Judge {
 public:
  // Players work below `folder`, which is there.
  Judge(const Installation& installation, std::string folder)
      : installation_(installation), folder_(std::move(folder)) {}

  [[nodiscard]] Run run_natively(const Sequence& sequence);
  // The first configuration that differs. A hang is a difference.
  [[nodiscard]] Verdict compare(const Sequence& sequence,
                                const std::vector<Configuration>& configurations);

 private:
  Server& server(const Configuration& configuration);

  Installation installation_;
  std::string folder_;
  std::map<std::string, std::unique_ptr<Server>> servers_;
};

}  // namespace vramscope::differential
