// The manual in the language of man(7), made of what --help and `vramscope options` are made of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/description.h"

namespace vramscope {

// What stands in a page's head and foot.
struct ManualEdition {
  std::string version;  // "0.1.0"
  std::string date;     // "2026-11-23", of what was built; "": not known
};

// vramscope(1): every verb with its options; those that many verbs have are described once.
[[nodiscard]] std::string tool_manual(const std::vector<VerbDescription>& verbs,
                                      const ManualEdition& edition);

// vramscope(7): the library's variables, for programs that it is preloaded into by hand.
[[nodiscard]] std::string library_manual(const ManualEdition& edition);

}  // namespace vramscope
