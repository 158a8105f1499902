// unnamed_file() makes a file without a name, so that nothing remains of it, however the process
// ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Returns an open empty file in `folder` ("": the current one) for reading and writing, with mode
// 0600, or -1 with errno. If the file system cannot make a file without a name, it has a name for
// an instant. May throw bad_alloc.
[[nodiscard]] int unnamed_file(const std::string& folder);

}  // namespace vramscope
