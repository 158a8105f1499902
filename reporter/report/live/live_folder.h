// The folders in which live files lie unless the user chose a path: in memory, the user's alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Of the calling user, best first: "vramscope-UID" in /dev/shm, and in `runtime_folder` (the
// variable XDG_RUNTIME_DIR; "": there is none), if that is the user's and only his to change. They
// need not be there. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> live_folders(std::string_view runtime_folder);

// The same with that variable as it is now; for the tool, which has no more rights than its user.
[[nodiscard]] std::vector<std::string> live_folders_of_environment();

// 0 when it is a folder of the calling user's that nobody else may read or change, and no link;
// else errno.
[[nodiscard]] int why_not_private(const std::string& folder) noexcept;
// The same, and the folder is made if it is not there. ENOTSUP: it would not lie in memory.
[[nodiscard]] int make_private_folder(const std::string& folder) noexcept;

// The folder itself, for openat(): the same of what its descriptor (O_PATH) shows, whatever becomes
// of its name. The caller closes it; negative: -errno.
[[nodiscard]] int open_private_folder(const std::string& folder) noexcept;

inline constexpr std::string_view kLiveSuffix = ".live";  // of the files' names

}  // namespace vramscope
