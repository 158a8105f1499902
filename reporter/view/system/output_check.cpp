// Tries to write where a pattern points.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/output_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "allocator/base/standard_files.h"
#include "interpose/settings/options.h"
#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/file_name.h"
#include "reporter/report/files/folders.h"
#include "reporter/report/files/unnamed_file.h"
#include "reporter/report/files/write_signals.h"
#include "reporter/view/system/host.h"

namespace vramscope {
namespace {

constexpr std::size_t kTriedBytes = 4096;

bool differs_by_process(std::string_view pattern) {
  for (const std::string_view escape :
       {"%p", "%e", "%r", "%R", "%l", "%w", "%j", "%a", "%n", "%t"}) {
    if (pattern.find(escape) != pattern.npos) return true;
  }
  return false;
}

// errno of making and filling a file in the folder, which has no name and is gone again.
int try_folder(const std::string& folder) {
  const HeldWriteSignals held;
  const int file = unnamed_file(folder);
  if (file < 0) return errno;
  const std::string bytes(kTriedBytes, ' ');
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  const int error = written < 0 ? errno : written < static_cast<ssize_t>(kTriedBytes) ? ENOSPC : 0;
  return ::close(file) != 0 && error == 0 ? errno : error;
}

std::string expanded(const std::string& pattern, const std::string& program) {
  const auto variable = [](const char* name) { return std::getenv(name); };
  return expand_pattern(pattern, {.hostname = this_host(), .executable = program}, variable);
}

}  // namespace

void make_output_folders(const Options& options, const std::string& program) {
  for (const std::string& pattern : {options.output, options.trace}) {
    const std::string folder = pattern.substr(0, pattern.rfind('/') + 1);
    if (!differs_by_process(folder)) make_folders_of(expanded(folder, program));
  }
}

std::string why_not_writable(std::string_view noun, const std::string& pattern,
                             const std::string& program) {
  const std::string folder_pattern = pattern.substr(0, pattern.rfind('/') + 1);
  if (differs_by_process(folder_pattern)) return "";
  const std::string path = expanded(pattern, program);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const auto line = [&](const std::string& where, int error) {
    return "cannot write a " + std::string(noun) + " " + where + ": " +
           std::generic_category().message(error);
  };
  const int beside = differs_by_process(pattern) ? 0 : why_not_beside(path.c_str());
  if (beside != 0) return line("to '" + path + "'", beside);
  const int error = try_folder(folder);
  return error == 0 ? "" : line("in '" + (folder.empty() ? "." : folder) + "'", error);
}

std::string taken_name(const std::string& path) {
  const std::string wanted(wanted_name(path));
  if (wanted == path) return "";
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(wanted, error))) return "";
  return " (" + wanted.substr(wanted.rfind('/') + 1) + " was taken)";
}

}  // namespace vramscope
