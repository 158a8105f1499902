// unnamed_file() makes a file that has no name, so that nothing of it is left whatever ends us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// An open empty file in `folder` ("": the current one), for reading and writing, of mode 0600; -1:
// errno tells. Where the file system makes none without a name, it has one for an instant. May
// throw bad_alloc.
[[nodiscard]] int unnamed_file(const std::string& folder);

}  // namespace vramscope
