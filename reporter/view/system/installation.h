// find_library() and find_simulator() find the parts of Vramscope relative to the tool, so a folder
// that was moved still works.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// A file that was found, or one line that says why it was not.
struct InstalledFile {
  std::string path;   // absolute
  std::string error;  // "" if found
};

// Returns libvramscope.so: $VRAMSCOPE_LIBRARY, or in the build folder, or as installed.
[[nodiscard]] InstalledFile find_library();

// Returns what to preload: the path, or the path with the loader's token $PLATFORM at its end,
// which leads 32-bit processes to an empty object instead of an error message.
[[nodiscard]] std::string preload_name(const std::string& library);

// Returns a path to the same file or folder that contains none of `separators`: the path itself, or
// one that uses a link to its folder, which is made in the user's private folder in memory
// (live_folder.h) and stays there. Returns an error if neither is possible.
[[nodiscard]] InstalledFile without_separators(const std::string& path, const char* separators);
inline constexpr const char* kPreloadSeparators = " :";  // of LD_PRELOAD (ld.so(8))
inline constexpr const char* kFoldersSeparators = ":;";  // of LD_LIBRARY_PATH
inline constexpr const char* kModulesSeparators = ":";   // of PYTHONPATH

// Returns the folder with the simulated device's libcuda.so.1.
[[nodiscard]] InstalledFile find_simulator();

// Returns the folder with vramscope.py and no other module.
[[nodiscard]] InstalledFile find_python_module();

// Returns the object that writes Parquet.
[[nodiscard]] InstalledFile find_parquet_plugin();

// Returns whether the loader finds NVIDIA's driver where it would look for a program's.
[[nodiscard]] bool has_driver();

}  // namespace vramscope
