// apply_preset() sets a framework's own variables so that each of its allocations is seen:
// vramscope run --preset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

struct PresetResult {
  std::string conflict;  // a line: the user has set a variable differently; nothing was set
  std::vector<std::string> notes;  // lines: what was set, or what cannot be set
};

// Returns "pytorch, jax or cupy".
[[nodiscard]] std::string preset_names();
[[nodiscard]] bool is_preset(std::string_view name);

// Sets the variables of this process that the framework reads, and those of ours that choose how
// memory is served. A variable that already has the right value is not changed. If the user has
// chosen a mode other than cache, a policy or allocator settings, none of ours is set.
[[nodiscard]] PresetResult apply_preset(std::string_view name);

}  // namespace vramscope
