// InputFile is the text of a report file, or the reason why there is none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct InputFile {
  std::string text;
  std::string problem;  // "" when text is the whole file
};

// Reads all of `path` if it may be a JSON object, up to 4 GiB. May throw bad_alloc.
[[nodiscard]] InputFile read_file(const std::string& path);

}  // namespace vramscope
