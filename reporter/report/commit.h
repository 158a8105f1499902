// What this was built from, beside the version: known to the tool and to the preloaded library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vramscope {

// The commit, "b55cfdc123456", with "-dirty" behind it when files were changed since; "": not
// known, as of sources that neither git nor an archive made by it has.
[[nodiscard]] std::string_view commit_name();

// The day of that commit, "2026-11-23"; "": not known.
[[nodiscard]] std::string_view commit_date();

}  // namespace vramscope
