// Where the parts of Vramscope lie, relative to the tool.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/installation.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include "interpose/settings/private_variables.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

// The first of `places`, relative to the tool's folder, that holds `file`.
InstalledFile find(const std::string& what, const char* file,
                   std::initializer_list<const char*> places) {
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error);
  if (error) return {.path = "", .error = "cannot find myself in /proc: " + error.message()};
  std::string tried;
  for (const char* place : places) {
    const fs::path folder = (tool.parent_path() / place).lexically_normal();
    if (fs::exists(folder / file, error)) return {.path = folder.string(), .error = ""};
    tried += (tried.empty() ? "neither in " : " nor in ") + folder.string();
  }
  return {.path = "", .error = what + " is " + tried};
}

}  // namespace

InstalledFile find_library() {
  constexpr const char* kName = "libvramscope.so";
  const char* override = std::getenv(kLibraryVariable);
  if (override != nullptr && *override != '\0') {
    std::error_code error;
    const fs::path path = fs::canonical(override, error);
    if (!error) return {.path = path.string(), .error = ""};
    std::string what = kLibraryVariable;
    ((what += "='") += override) += "': ";
    return {.path = "", .error = what + error.message()};
  }
  InstalledFile found = find(kName, kName, {"../../interpose", "../lib/vramscope"});
  if (found.error.empty()) (found.path += '/') += kName;
  return found;
}

std::string preload_name(const std::string& library) {
  std::error_code error;
  for (const char* platform : {"x86_64", "haswell", "xeon_phi", "i686", "i586"}) {
    if (!fs::exists(library + "." + platform, error)) return library;
  }
  return getauxval(AT_PLATFORM) != 0 ? library + ".$PLATFORM" : library;
}

InstalledFile find_simulator() {
  return find("the simulated device", "libcuda.so.1",
              {"../../test/simulator", "../lib/vramscope/simulator"});
}

}  // namespace vramscope
