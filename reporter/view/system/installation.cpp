// Where the parts of Vramscope lie, relative to the tool.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/installation.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <sstream>
#include <system_error>

#include "interpose/settings/private_variables.h"
#include "reporter/report/live/live_folder.h"

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

// "from-4f0c..": the same for the same folder, so that the next run finds the link.
std::string link_name(const std::string& folder) {
  std::ostringstream text;
  text << "/from-" << std::hex << std::setfill('0') << std::setw(16)
       << std::hash<std::string>{}(folder);
  return text.str();
}

// errno of there being a link at `link` that leads to the folder.
int make_link(const std::string& folder, const std::string& link) {
  if (symlink(folder.c_str(), link.c_str()) == 0) return 0;
  if (errno != EEXIST) return errno;
  std::error_code error;
  return fs::read_symlink(link, error) == folder ? 0 : EEXIST;
}

}  // namespace

InstalledFile without_separators(const std::string& path, const char* separators) {
  if (path.find_first_of(separators) == path.npos) return {.path = path, .error = ""};
  const std::size_t slash = path.rfind('/');
  std::string why = "its name has one of \"" + std::string(separators) + "\"";
  if (path.find_first_of(separators, slash) != path.npos) return {.path = "", .error = why};
  for (const std::string& folder : live_folders_of_environment()) {
    const std::string link = folder + link_name(path.substr(0, slash));
    int problem = make_private_folder(folder);
    if (problem == 0) problem = make_link(path.substr(0, slash), link);
    if (problem == 0) return {.path = link + path.substr(slash), .error = ""};
    why = "its path has one of \"" + std::string(separators) +
          "\", and a link to it cannot be made in " + folder + ": " + std::strerror(problem);
  }
  return {.path = "", .error = why};
}

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

InstalledFile find_python_module() {
  return find("the Python module", "vramscope.py",
              {"../../interpose/face", "../lib/vramscope/python"});
}

InstalledFile find_parquet_plugin() {
  constexpr const char* kName = "vramscope_parquet.so";
  InstalledFile found = find(kName, kName, {"export", "../lib/vramscope"});
  if (found.error.empty()) (found.path += '/') += kName;
  return found;
}

bool has_driver() {
  constexpr const char* kDriver = "libcuda.so.1";
  void* const driver = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

}  // namespace vramscope
