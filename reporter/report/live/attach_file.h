// An attach file hands settings to the library that `vramscope attach` loads into a running
// process, whose environment stays as it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramscope {

inline constexpr const char* kAttachBeginning = "vramscope-attach 1\n";  // of the file
inline constexpr std::size_t kMostAttachBytes = std::size_t{1} << 16;

// Returns the file's name in a folder of live_folders(), or "" if the process does not exist. It
// holds when the process started, so a file that stayed is never of a later process with the same
// number. May throw bad_alloc, as all functions here.
[[nodiscard]] std::string attach_file_name(pid_t pid);

// What the process held of a GPU when it was attached, by NVML: contexts, code, and memory that is
// not recorded.
struct HeldBefore {
  std::string uuid;  // of the GPU, as the driver tells it
  std::uint64_t bytes = 0;
};
// A line of the file that is no setting, for each GPU of which that is known.
[[nodiscard]] std::string held_before_line(const HeldBefore& held);
// Reads such a line. Returns nothing for any other.
[[nodiscard]] std::optional<HeldBefore> held_before_in(const std::string& line);

// Returns the process in such a name, or 0 if it is none.
[[nodiscard]] pid_t process_of_attach_file(const std::string& name);

// Returns the file's text. The settings are "NAME=value" without a null byte.
[[nodiscard]] std::string attach_text(const std::vector<std::string>& settings);

// Returns the settings that the calling process finds for itself; nothing if there is no file, or
// one that may not be its user's own. runtime_folder: as for live_folders().
[[nodiscard]] std::optional<std::vector<std::string>> own_attach_settings(
    const std::string& runtime_folder);

}  // namespace vramscope
