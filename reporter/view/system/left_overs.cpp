// Goes through the usual folders.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/left_overs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "interpose/settings/private_variables.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/report/live/live_proof.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

std::int64_t in_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void add_file(const std::string& path, LeftOvers& left) {
  const OpenLiveFile file(path);
  struct stat found {};
  if (!file.problem().empty() || fstat(file.number(), &found) != 0) return;
  const LiveProof proof = proof_of(file);
  if (!why_it_stays(file, proof).empty()) return;
  const auto bytes = static_cast<std::uint64_t>(found.st_blocks) * 512;
  const bool is_needed = proof.last == LiveState::needed;
  (is_needed ? left.files : left.unneeded)
      .push_back({.path = path, .bytes = bytes, .changed_ns = in_ns(found.st_mtim)});
  if (is_needed) left.bytes += bytes;
}

std::uint64_t bytes_of_system(const std::string& folder) {
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0) return 0;
  return std::uint64_t{system.f_blocks} * system.f_frsize;
}

// How many were told of; its last change says when.
std::string note_in(const LeftOvers& left) { return left.folder + "/told"; }

}  // namespace

std::vector<std::string> usual_live_folders() {
  std::vector<std::string> folders = live_folders_of_environment();
  std::erase_if(folders, [](const std::string& folder) { return why_not_private(folder) != 0; });
  return folders;
}

std::vector<std::string> live_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find(kLiveSuffix) != name.npos) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

LeftOvers left_overs() {
  LeftOvers left;
  const char* const wanted = std::getenv(kLeftOversVariable);
  if (wanted != nullptr && std::string_view(wanted) == "off") return left;
  for (const std::string& folder : usual_live_folders()) {
    const std::size_t before = left.files.size();
    for (const std::string& path : live_files_in(folder)) add_file(path, left);
    if (before != 0 || left.files.empty()) continue;
    left.folder = folder;
    left.system = bytes_of_system(folder);
  }
  std::sort(left.files.begin(), left.files.end(), [](const auto& one, const auto& other) {
    return std::tie(one.changed_ns, one.path) < std::tie(other.changed_ns, other.path);
  });
  return left;
}

bool are_news(const LeftOvers& left) {
  constexpr std::int64_t kDayNs = std::int64_t{24} * 3600 * 1'000'000'000;
  const int file = open(note_in(left).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat found {};
  char text[32] = {};
  const bool is_note = file >= 0 && fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                       read(file, text, sizeof text - 1) > 0;
  if (file >= 0) close(file);
  if (!is_note || left.files.empty()) return true;
  const std::int64_t now_ns =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t told_ns = in_ns(found.st_mtim);
  return left.files.size() > std::strtoull(text, nullptr, 10) ||
         left.files.back().changed_ns > told_ns || now_ns - told_ns > kDayNs || told_ns > now_ns;
}

void note_told(const LeftOvers& left) {
  const int file =
      open(note_in(left).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return;
  // What an earlier, longer number leaves behind is of another line.
  const std::string text = std::to_string(left.files.size()) + "\n";
  static_cast<void>(!write(file, text.data(), text.size()));
  close(file);
}

}  // namespace vramscope
