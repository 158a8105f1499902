// The commit from which this was built, in addition to the version. The tool and the preloaded
// library both know it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vramscope {

// Returns "b55cfdc123456", with "-dirty" appended if files were changed since the commit. Returns
// "" if it is not known: the sources came neither from git nor from an archive made by git.
[[nodiscard]] std::string_view commit_name();

// Returns the day of that commit, "2026-11-23", or "" if it is not known.
[[nodiscard]] std::string_view commit_date();

}  // namespace vramscope
