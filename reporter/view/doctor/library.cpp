// Whether our library can be preloaded from where it lies, and what this build of the tool lacks.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "interpose/settings/private_variables.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/export/build_parts.h"
#include "reporter/view/system/elf_program.h"
#include "reporter/view/system/executable.h"
#include "reporter/view/system/installation.h"

namespace vramscope {
namespace {

constexpr const char* kLibrarySubject = "library";
constexpr const char* kInstall = "install Vramscope anew (meson install)";

constexpr int kFunctions = 0
#define DRIVER_FUNCTION(...) +1
#include "interpose/table/functions.def"
#undef DRIVER_FUNCTION
    ;

void examine_version(const std::string& path, Findings& findings) {
  const std::string version = version_of_library(path);
  if (version == VRAMSCOPE_VERSION) {
    return findings.fine(kLibrarySubject,
                         path + ", version " + version + ", intercepts " +
                             std::to_string(kFunctions) +
                             " functions of the driver, dlsym and cuGetProcAddress");
  }
  const std::string is = version.empty() ? "does not say its version" : "is of version " + version;
  findings.limits(kLibrarySubject, path + " " + is + ", this tool is of " VRAMSCOPE_VERSION,
                  "use both from one installation; live files of killed programs cannot be read");
}

std::string why_not_preloaded(const std::string& path, std::string& advice) {
  advice = "move the installation to another folder";
  if (is_on_noexec(path)) return "cannot be preloaded: its file system is mounted noexec";
  advice = "give others the right to read it (chmod a+r), and its folders";
  if (access(path.c_str(), R_OK) != 0) return std::string("cannot be read: ") + strerror(errno);
  const auto file = ElfProgram::open(path);
  advice = kInstall;
  if (!file) return "is no library";
  if (!file->is_native()) return "is for another machine: " + file->machine();
  return file->is_cut_short() ? "is cut short: programs crash as they load it" : "";
}

}  // namespace

void examine_build(Findings& findings) {
  constexpr const char* kSubject = "tool";
  std::vector<std::string> has;

  for (const BuildPart& part : build_parts()) {
    const std::string name(part.name);
    if (part.why_not.empty()) {
      has.push_back(name);
      continue;
    }
    findings.limits(kSubject,
                    "is built without " + name + " (" + std::string(part.gives) +
                        "): " + std::string(part.why_not),
                    "install what is missing (scripts/setup demo) and build it again");
  }
  if (!has.empty()) findings.fine(kSubject, "is built with " + enumerated(has));
}

std::string version_of_library(const std::string& path) {
  const auto file = ElfProgram::open(path);
  return file ? file->note(kVersionNote) : "";
}

bool is_our_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libvramscope.so");
}

void examine_library(Findings& findings) {
  const InstalledFile library = find_library();
  if (!library.error.empty()) return findings.stops(kLibrarySubject, library.error, kInstall);
  std::string advice;
  const std::string why_not = why_not_preloaded(library.path, advice);
  if (!why_not.empty())
    return findings.stops(kLibrarySubject, library.path + " " + why_not, advice);
  examine_version(library.path, findings);
}

}  // namespace vramscope
