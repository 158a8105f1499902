// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/attach_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "allocator/base/own_file.h"
#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/process_stat.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

constexpr std::string_view kPrefix = "attach.";
constexpr std::string_view kHeldBefore = "held-before=";

// Each setting ends with a null byte.
std::vector<std::string> settings_in(std::string_view text) {
  std::vector<std::string> settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end != 0) settings.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

std::optional<std::vector<std::string>> read_in(const std::string& folder,
                                                const std::string& name) {
  const Descriptor place(open_private_folder(folder));
  if (place.number() < 0) return std::nullopt;
  const Descriptor file(
      openat(place.number(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  if (file.number() < 0 || fstat(file.number(), &found) != 0 || !is_as_we_make(found)) {
    return std::nullopt;
  }
  std::string text(kMostAttachBytes + 1, '\0');
  const ssize_t got = read(file.number(), text.data(), text.size());
  if (got < 0 || static_cast<std::size_t>(got) > kMostAttachBytes) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  if (!text.starts_with(kAttachBeginning)) return std::nullopt;
  return settings_in(std::string_view(text).substr(std::string_view(kAttachBeginning).size()));
}

}  // namespace

std::string attach_file_name(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const ProcessStat found = process_stat(path.c_str());
  if (found.state == 0) return "";
  return std::string(kPrefix) + std::to_string(pid) + "." + std::to_string(found.start_ticks);
}

pid_t process_of_attach_file(const std::string& name) {
  int process = 0;
  unsigned long long started = 0;
  int length = 0;
  const int found = std::sscanf(name.c_str(), "attach.%d.%llu%n", &process, &started, &length);
  const bool is_whole = found == 2 && static_cast<std::size_t>(length) == name.size();
  return is_whole ? process : 0;
}

std::string held_before_line(const HeldBefore& held) {
  return std::string(kHeldBefore) + std::to_string(held.bytes) + "=" + held.uuid;
}

std::optional<HeldBefore> held_before_in(const std::string& line) {
  if (!line.starts_with(kHeldBefore)) return std::nullopt;
  const std::string_view text = std::string_view(line).substr(kHeldBefore.size());
  const std::size_t end = text.find('=');
  HeldBefore held;
  const auto read =
      std::from_chars(text.data(), text.data() + std::min(end, text.size()), held.bytes);
  if (end == text.npos || read.ec != std::errc() || read.ptr != text.data() + end) {
    return std::nullopt;
  }
  held.uuid = text.substr(end + 1);
  return held;
}

std::string attach_text(const std::vector<std::string>& settings) {
  std::string text = kAttachBeginning;
  for (const std::string& setting : settings) text.append(setting).push_back('\0');
  return text;
}

std::optional<std::vector<std::string>> own_attach_settings(const std::string& runtime_folder) {
  const std::string name = attach_file_name(getpid());
  if (name.empty()) return std::nullopt;
  for (const std::string& folder : live_folders(runtime_folder)) {
    if (auto settings = read_in(folder, name)) return settings;
  }
  return std::nullopt;
}

}  // namespace vramscope
