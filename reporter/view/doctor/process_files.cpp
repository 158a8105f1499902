// Reads /proc of one process.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/process_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "interpose/settings/private_variables.h"
#include "reporter/report/files/process_stat.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What follows "\nNAME:" in a status; "": it does not say.
std::string field(const std::string& status, const std::string& name) {
  const std::size_t at = status.find("\n" + name + ":");
  if (at == status.npos) return "";
  const std::size_t begin = status.find_first_not_of(" \t", at + name.size() + 2);
  return status.substr(begin, status.find('\n', begin) - begin);
}

TargetFiles read_or_refuse(pid_t pid) {
  const std::string process = "process " + std::to_string(pid);
  const char state = process_stat((folder_of(pid) + "/stat").c_str()).state;
  if (state == 0) throw std::invalid_argument("there is no " + process);
  if (state == 'Z') throw std::invalid_argument(process + " has ended already");
  std::optional<TargetFiles> files = read_target(pid);
  if (files) return *std::move(files);
  if (errno == ENOENT || errno == ESRCH) throw std::invalid_argument(process + " has just ended");
  throw std::invalid_argument(process + " may not be looked at: " + std::strerror(errno) +
                              "; ask as the user whose it is, or as root");
}

}  // namespace

ProcessFiles::ProcessFiles(pid_t pid) : pid_(pid), files_(read_or_refuse(pid)) {
  std::error_code error;
  const std::string folder = folder_of(pid);
  program_ = std::filesystem::read_symlink(folder + "/exe", error).string();
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/task", error)) {
    const std::string name = content_of(entry.path().string() + "/comm");
    threads_.push_back(
        {name.substr(0, name.find('\n')), content_of(entry.path().string() + "/status")});
  }
}

std::vector<std::string> ProcessFiles::arguments() const {
  const std::string text = content_of(folder_of(pid_) + "/cmdline");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<std::string> ProcessFiles::mapped(std::string_view name) const {
  std::vector<std::string> found;
  std::istringstream lines(files_.maps);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos) continue;
    const std::string path = line.substr(slash);
    if (!std::string_view(path).substr(path.rfind('/') + 1).starts_with(name)) continue;
    if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
  }
  return found;
}

std::vector<const char*> ProcessFiles::variables() const {
  std::vector<const char*> result;
  const std::string& all = files_.environment;
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) {
    result.push_back(all.c_str() + at);
    if (all.find('\0', at) == all.npos) break;
  }
  result.push_back(nullptr);
  return result;
}

std::optional<std::string> ProcessFiles::variable(std::string_view name) const {
  for (const char* entry : variables()) {
    const std::string_view text = entry == nullptr ? "" : entry;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
      return std::string(text.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::string ProcessFiles::status(const std::string& name) const {
  return field(files_.status, name);
}

bool ProcessFiles::blocks(int signal) const {
  if (signal < 1 || signal > 64) return false;
  std::size_t counted = 0;
  for (const Thread& thread : threads_) {
    if (helper_state(thread.name)) continue;
    const std::string mask = field(thread.status, "SigBlk");
    if ((std::strtoull(mask.c_str(), nullptr, 16) >> (signal - 1) & 1) == 0) return false;
    ++counted;
  }
  return counted != 0;
}

bool ProcessFiles::is_recording() const {
  const std::string live_file = "." + std::to_string(pid_) + std::string(kLiveSuffix);
  if (files_.maps.find(live_file) != std::string::npos) return true;
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const Thread& thread) { return helper_state(thread.name).has_value(); });
}

pid_t ProcessFiles::parent() const { return static_cast<pid_t>(std::atoi(status("PPid").c_str())); }

std::vector<pid_t> ProcessFiles::children() const {
  std::istringstream numbers(
      content_of(folder_of(pid_) + "/task/" + std::to_string(pid_) + "/children"));
  return {std::istream_iterator<pid_t>(numbers), {}};
}

}  // namespace vramscope
