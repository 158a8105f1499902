// Compares a file with its own content and with the system.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_proof.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstddef>
#include <string_view>
#include <vector>

#include "reporter/report/files/file_name.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

// Parses a number in the form in which we write it.
bool take_number(std::string_view text, std::int64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() &&
         std::to_string(number) == text;
}

}  // namespace

std::int64_t maker_in(std::string_view name, std::string_view suffix) {
  constexpr std::int64_t kMostNames = 1000;
  const std::size_t mark = name.rfind('~');
  if (mark != name.npos) {
    std::int64_t number = 0;
    if (!take_number(name.substr(mark + 1), number) || number < 1 || number >= kMostNames) return 0;
    name = name.substr(0, mark);
  }
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return 0;
  std::int64_t pid = 0;
  return take_number(name.substr(dot + 1), pid) && pid > 0 && pid <= INT_MAX ? pid : 0;
}

namespace {

// Returns whether it is a folder of ours, to which only the user can write.
bool is_in_own_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1) + ".";
  struct stat here {};
  if (stat(folder.c_str(), &here) != 0) return false;
  const std::vector<std::string> own = live_folders_of_environment();
  return std::any_of(own.begin(), own.end(), [&](const std::string& candidate) {
    struct stat there {};
    return why_not_private(candidate) == 0 && lstat(candidate.c_str(), &there) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
  });
}

// Returns whether nothing was written to it, or all of the header except the magic, which is
// written last.
bool is_begun_only(int file) {
  struct Beginning {
    std::uint64_t magic = 0;
    std::uint32_t format = 0;
    std::uint32_t parts = 0;
  } found;
  static_assert(offsetof(LiveHeader, format) == offsetof(Beginning, format) &&
                offsetof(LiveHeader, parts) == offsetof(Beginning, parts));
  struct stat status {};
  if (fstat(file, &status) != 0) return false;
  if (status.st_size == 0) return true;
  if (status.st_size != static_cast<off_t>(kLiveParts * kLivePartBytes)) return false;
  if (pread(file, &found, sizeof found, 0) != static_cast<ssize_t>(sizeof found)) return false;
  const bool is_empty = found.format == 0 && found.parts == 0;
  const bool is_ours = found.format == LiveHeader::kFormat && found.parts == kLiveParts;
  return found.magic == 0 && (is_empty || is_ours);
}

bool is_begun(const OpenLiveFile& file) {
  return maker_in(base_name(file.path()), kLiveSuffix) != 0 && is_in_own_folder(file.path()) &&
         is_begun_only(file.number());
}

bool is_as_made(const OpenLiveFile& file) {
  std::uint64_t number = 0;
  std::array<char, sizeof(LiveHeader::name)> name{};
  struct stat status {};
  const auto read = [&](void* to, std::size_t bytes, std::size_t offset) {
    return pread(file.number(), to, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  };
  const bool known = read(&number, sizeof number, offsetof(LiveHeader, number)) &&
                     read(name.data(), name.size() - 1, offsetof(LiveHeader, name)) &&
                     fstat(file.number(), &status) == 0;
  return known && number == status.st_ino && name.data() == base_name(file.path());
}

// The number in the name may belong to a process in another pid namespace, and no process may have
// it here. The maker then still holds the file's lock, or finds later that the file is gone
// (interpose/life/live_file.cpp).
std::string why_begun_stays(const OpenLiveFile& file) {
  const auto pid = static_cast<pid_t>(maker_in(base_name(file.path()), kLiveSuffix));
  const bool is_gone = kill(pid, 0) != 0 && errno == ESRCH;
  return is_gone ? "" : "process " + std::to_string(pid) + ", which may be making it, runs";
}

LiveState last_state(int file) {
  LiveState state = LiveState::needed;
  constexpr off_t kPlace = offsetof(LiveHeader, state);
  return pread(file, &state, sizeof state, kPlace) == sizeof state ? state : LiveState::needed;
}

}  // namespace

LiveProof proof_of(const OpenLiveFile& file) {
  LiveProof proof;
  proof.why = why_no_header(file.number());
  if (!proof.why.empty()) {
    if (is_begun(file)) proof.what = LiveProof::What::begun;
    return proof;
  }
  const std::optional<LiveOwner> owner = owner_of(file.number());
  if (!owner) {
    proof.why = "it does not say whose it is";
    return proof;
  }
  proof.what = LiveProof::What::whole;
  proof.owner = *owner;
  proof.is_as_made = is_as_made(file);
  if (!proof.is_as_made) proof.owner.is_locked = 0;  // the lock is that of another file
  proof.state = state_of(file.number(), proof.owner);
  if (proof.state == OwnerState::dead) proof.last = last_state(file.number());
  return proof;
}

std::string why_it_stays(const OpenLiveFile& file, const LiveProof& proof) {
  if (proof.what == LiveProof::What::foreign) return proof.why;
  if (proof.what == LiveProof::What::begun) return why_begun_stays(file);
  if (!proof.is_as_made) return "it is a copy, or was renamed";
  if (proof.state == OwnerState::alive) return "its process runs";
  return proof.state == OwnerState::dead ? ""
                                         : "whether its process still runs cannot be told here";
}

std::string remove_proved(const OpenLiveFile& file, const LiveProof& proof) {
  const std::string why = why_it_stays(file, proof);
  if (!why.empty()) return why;
  if (!file.lock()) return "somebody else has it";
  file.remove();
  return "";
}

}  // namespace vramscope
