// find_library() and find_simulator() say where the parts of Vramscope lie, relative to the tool: a
// folder that was moved still works.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// A file that was found, or one line on why not.
struct InstalledFile {
  std::string path;   // absolute
  std::string error;  // "" when found
};

// libvramscope.so: $VRAMSCOPE_LIBRARY, or in the build folder, or as installed.
[[nodiscard]] InstalledFile find_library();

// What to preload of it: the path, or the path with the loader's token $PLATFORM at its end, which
// leads 32-bit processes to an empty object instead of to an error message.
[[nodiscard]] std::string preload_name(const std::string& library);

// A path to the same file or folder in which none of `separators` stands: itself, or one by way of
// a link to its folder that lies in the user's private folder in memory (live_folder.h) from then
// on. Error: neither is to be had.
[[nodiscard]] InstalledFile without_separators(const std::string& path, const char* separators);
inline constexpr const char* kPreloadSeparators = " :";  // of LD_PRELOAD (ld.so(8))
inline constexpr const char* kFoldersSeparators = ":;";  // of LD_LIBRARY_PATH

// The folder with the simulated device's libcuda.so.1.
[[nodiscard]] InstalledFile find_simulator();

// Whether the loader finds NVIDIA's driver, where it would look for a program's.
[[nodiscard]] bool has_driver();

}  // namespace vramscope
