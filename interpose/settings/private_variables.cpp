// Writes and reads the values of private variables.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/private_variables.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"
#include "allocator/base/uncancelled.h"

namespace vramscope {
namespace {

bool is_note(int file) noexcept {
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid())
    return false;
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0 || found.st_nlink != 1) return false;
  constexpr std::string_view kBeginning = kNoteBeginning;
  std::array<char, kBeginning.size()> text{};
  return pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         std::string_view(text.data(), text.size()) == kBeginning;
}

// The lock ends with its holder at the latest.
void await_lock(int note) noexcept {
  constexpr int kLooks = 2000;
  constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 500'000};
  for (int i = 0; i < kLooks && flock(note, LOCK_SH | LOCK_NB) != 0; ++i) {
    nap(kBetweenLooks);
  }
}

constexpr std::size_t kMostBeforeFree = std::size_t{1} << 20;  // lines that processes wrote earlier

std::string free_line_in(int note) {
  struct stat found {};
  if (fstat(note, &found) != 0) return {};
  std::string text(std::min(static_cast<std::size_t>(found.st_size), kMostBeforeFree), '\0');
  const ssize_t count = pread(note, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const std::string beginning = std::string("\n") + kFreeNote;
  const std::size_t at = text.find(beginning);
  const std::size_t end = at == text.npos ? text.npos : text.find('\n', at + 1);
  if (end == text.npos) return {};
  return text.substr(at + beginning.size(), end - at - beginning.size());
}

constexpr std::string_view kHelperName = "vramscope";
constexpr std::string_view kBesideHandler = "+own";

}  // namespace

std::array<char, 16> helper_name(const HelperState& state) noexcept {
  std::array<char, 16> name{};  // the kernel takes 15 characters
  std::size_t length = kHelperName.copy(name.data(), kHelperName.size());
  if (state.is_beside_handler) {
    length += kBesideHandler.copy(name.data() + length, kBesideHandler.size());
  }
  name[length] = static_cast<char>(state.quota);
  return name;
}

std::optional<HelperState> helper_state(std::string_view name) noexcept {
  HelperState state;
  for (const auto quota : {HelperState::Quota::held_back, HelperState::Quota::used_up}) {
    if (!name.ends_with(static_cast<char>(quota))) continue;
    state.quota = quota;
    name.remove_suffix(1);
    break;
  }
  state.is_beside_handler = name.ends_with(kBesideHandler);
  if (state.is_beside_handler) name.remove_suffix(kBesideHandler.size());
  return name == kHelperName ? std::optional(state) : std::nullopt;
}

int open_note(const char* path) noexcept {
  const KeptErrno kept;
  constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int file = open(path, kFlags);
  if (file < 0 || is_note(file)) return file;
  close(file);
  return -1;
}

std::string free_before_text(const std::vector<FreeBytes>& devices) {
  std::string text;
  for (const FreeBytes& device : devices) {
    text += (text.empty() ? "" : ",") + device.uuid + "=" + std::to_string(device.bytes);
  }
  return text;
}

std::string free_before_in(const char* note) {
  const KeptErrno kept;
  const Uncancelled uncancelled;
  const int file = open_note(note);
  if (file < 0) return {};
  await_lock(file);
  struct Closing {
    int file;
    ~Closing() { close(file); }
  } const closing{file};
  return free_line_in(file);
}

std::optional<std::uint64_t> free_before(std::string_view text, std::string_view uuid) noexcept {
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    if (!entry.starts_with(uuid)) continue;
    entry.remove_prefix(uuid.size());
    if (!entry.starts_with('=')) continue;
    std::uint64_t bytes = 0;
    const char* const end = entry.data() + entry.size();
    const auto read = std::from_chars(entry.data() + 1, end, bytes);
    if (read.ec == std::errc{} && read.ptr == end) return bytes;
  }
  return std::nullopt;
}

}  // namespace vramscope
