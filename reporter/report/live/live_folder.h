// live_folders() lists the folders in which live files lie unless the user chose a path: in memory,
// and private to the user.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Returns the calling user's folders, best first: "vramscope-UID" in /dev/shm, and in
// `runtime_folder` (the variable XDG_RUNTIME_DIR; "": not set) if only the user can change that.
// The folders need not exist. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> live_folders(std::string_view runtime_folder);

// Returns the same for the variable's present value. It is for the tool, which has no more rights
// than its user.
[[nodiscard]] std::vector<std::string> live_folders_of_environment();

// Returns 0 if it is a folder of the calling user that nobody else may read or change, and not a
// link. Otherwise returns an errno.
[[nodiscard]] int why_not_private(const std::string& folder) noexcept;
// Makes the folder if it does not exist, and returns the same. ENOTSUP: it would not lie in memory.
[[nodiscard]] int make_private_folder(const std::string& folder) noexcept;

// Opens the folder for openat(). Its descriptor (O_PATH) is checked as above, so later changes of
// the name do not matter. The caller closes the descriptor. Returns -errno on failure.
[[nodiscard]] int open_private_folder(const std::string& folder) noexcept;

// Returns the address of a socket in an open folder, through which a path of any length is reached;
// nothing if `name` is too long. It works also where the main thread has ended.
[[nodiscard]] std::optional<sockaddr_un> socket_in(int folder, const std::string& name) noexcept;

inline constexpr std::string_view kLiveSuffix = ".live";    // suffix of the files' names
inline constexpr std::string_view kControlSuffix = ".ctl";  // of the sockets' names

}  // namespace vramscope
