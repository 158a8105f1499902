// What shells are told of the command line, so that they complete it. Behind `run` they complete
// the program's own command line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/description.h"

namespace vramscope {

// Each for one shell: to be read at its start, or to be put where it looks for completions.
[[nodiscard]] std::string bash_completion(const std::vector<VerbDescription>& verbs);
[[nodiscard]] std::string zsh_completion(const std::vector<VerbDescription>& verbs);
[[nodiscard]] std::string fish_completion(const std::vector<VerbDescription>& verbs);

}  // namespace vramscope
