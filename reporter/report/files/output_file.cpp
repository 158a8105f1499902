// Writes next to the final name, and publishes without replacing anything.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "allocator/base/standard_files.h"

namespace vramscope {

namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR;  // a report contains names and addresses, so it is
                                             // private
constexpr int kMaxNames = 10000;             // "~1" to "~9999"; beyond that something is wrong

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

constexpr std::string_view kBeginning = ".vramscope-";

// Takes a number and the dash before it off the end. Returns false if there is none.
bool take_last_number(std::string_view& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos || dash + 1 == name.size()) return false;
  if (name.find_first_not_of("0123456789", dash + 1) != name.npos) return false;
  name = name.substr(0, dash);
  return true;
}

// Returns the maker from a name of unfinished_name().
std::optional<Maker> maker_of_name(std::string_view name) {
  if (!name.starts_with(kBeginning)) return std::nullopt;
  name.remove_prefix(kBeginning.size());
  if (!take_last_number(name) || !take_last_number(name)) return std::nullopt;
  return maker_of(name);
}

void remove_if_unfinished(int folder, const char* name, const Maker& dead) {
  const std::optional<Maker> maker = maker_of_name(name);
  if (!maker) return;
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return;
  const MakerState state = state_of(*maker);
  const bool is_told = dead.pid > 0 && maker_text(*maker) == maker_text(dead);
  const bool is_dead = is_told && state != MakerState::runs;
  const bool has_ended = is_dead || state == MakerState::gone || is_of_earlier_boot(file, *maker);
  struct stat found {};
  if (has_ended && fstat(file, &found) == 0 && is_as_we_make(found)) {
    remove_own_file(folder, name, identity_of(file));
  }
  close(file);
}

bool rename_is_missing(int error) {
  return error == EINVAL || error == ENOSYS || error == ENOTSUP || error == EPERM;
}

// Returns 0 if `name` did not exist, so that we created it and renamed over it, else errno.
int rename_over_own_claim(const char* temporary, const std::string& name) noexcept {
  const int claim = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
  if (claim < 0) return errno;
  const FileIdentity own = identity_of(claim);
  close(claim);
  if (std::rename(temporary, name.c_str()) == 0) return 0;
  const int error = errno;
  remove_own_file(name, own);
  return error;
}

// Tries three ways, best first, since file systems differ in their abilities.
int rename_without_replacing(const char* temporary, const std::string& name) noexcept {
  if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0)
    return 0;
  if (!rename_is_missing(errno)) return errno;
  if (link(temporary, name.c_str()) == 0) {
    unlink(temporary);
    return 0;
  }
  return errno == EEXIST ? EEXIST : rename_over_own_claim(temporary, name);
}

}  // namespace

// is.
std::string unfinished_name(const std::string& path, int attempt) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return folder_of(path) + std::string(kBeginning) + maker_text(this_maker()) + "-" +
         std::to_string(now.tv_sec) + std::to_string(now.tv_nsec) + "-" + std::to_string(attempt);
}

void remove_unfinished(const std::string& path, const Maker& dead) {
  const std::string place = folder_of(path);
  DIR* const folder = opendir(place.empty() ? "." : place.c_str());
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    remove_if_unfinished(dirfd(folder), entry->d_name, dead);
  }
  closedir(folder);
}

bool is_unchanged(const std::string& path, const struct stat& judged) {
  struct stat now {};
  return lstat(path.c_str(), &now) == 0 && now.st_dev == judged.st_dev &&
         now.st_ino == judged.st_ino && now.st_size == judged.st_size &&
         now.st_mtim.tv_sec == judged.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == judged.st_mtim.tv_nsec;
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), buffer_(std::make_unique<char[]>(kBufferBytes)) {}

OutputFile::~OutputFile() {
  drop_unless_ours();
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) remove_own_file(temporary_, own_);
}

void OutputFile::open() {
  if (const int error = why_not_beside(path_.c_str()); error != 0) return fail(error);
  const StandardFilesTaken above_them;
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts && descriptor_ < 0; ++attempt) {
    std::string name = unfinished_name(path_, attempt);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    descriptor_ = ::open(name.c_str(), kFlags, kMode);
    if (descriptor_ >= 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST && errno != EINTR) {
      break;
    }
  }
  if (descriptor_ >= 0) own_ = identity_of(descriptor_);
  if (own_.inode == 0) fail(errno);
}

void OutputFile::open_as(int descriptor) noexcept {
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ >= 0) own_ = identity_of(descriptor_);
  if (own_.inode == 0) fail(errno);
}

bool OutputFile::is_ours() const noexcept {
  return own_.inode != 0 && identity_of(descriptor_) == own_;
}

// Programs may close all descriptors that they do not know at any moment, as daemons do.
void OutputFile::drop_unless_ours() noexcept {
  if (descriptor_ < 0 || is_ours()) return;
  descriptor_ = -1;
  fail(EBADF);
}

void OutputFile::fail(int error) noexcept {
  if (error_ == 0) error_ = error;
}

void OutputFile::flush() noexcept {
  std::size_t done = 0;
  drop_unless_ours();
  while (done < used_ && error_ == 0) {
    const ssize_t count = ::write(descriptor_, buffer_.get() + done, used_ - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  used_ = 0;
}

void OutputFile::write_large(std::string_view text) noexcept {
  while (!text.empty()) {
    if (used_ == kBufferBytes) flush();
    const std::size_t count = std::min(text.size(), kBufferBytes - used_);
    text.copy(buffer_.get() + used_, count);
    used_ += count;
    text.remove_prefix(count);
  }
}

bool OutputFile::rename_to(const std::string& name) noexcept {
  const int error = rename_without_replacing(temporary_.c_str(), name);
  if (error == 0) temporary_.clear();
  if (error != 0 && error != EEXIST) fail(error);
  return error == 0;
}

void OutputFile::finish() noexcept {
  if (error_ == 0) flush();
  drop_unless_ours();
  // Some file systems report a full disk only now.
  if (descriptor_ >= 0 && close(std::exchange(descriptor_, -1)) != 0) fail(errno);
}

void OutputFile::set_mode(mode_t mode) noexcept {
  drop_unless_ours();
  if (descriptor_ >= 0 && fchmod(descriptor_, mode) != 0) fail(errno);
}

bool OutputFile::publish_here() {
  finish();
  if (error_ != 0) return false;
  if (!rename_to(path_)) fail(EEXIST);
  return error_ == 0;
}

bool OutputFile::replace(const struct stat& judged) {
  drop_unless_ours();
  // The owner is set first, since a change of owner clears mode bits.
  const bool is_others = judged.st_uid != geteuid();
  if (descriptor_ >= 0 && is_others && fchown(descriptor_, judged.st_uid, judged.st_gid) != 0) {
    fail(errno);
  }
  set_mode(judged.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
  finish();
  if (error_ == 0 && !is_unchanged(path_, judged)) fail(ESTALE);
  if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  if (error_ == 0) temporary_.clear();
  return error_ == 0;
}

std::string OutputFile::publish() {
  finish();
  for (int number = 0; number < kMaxNames && error_ == 0; ++number) {
    std::string name = number == 0 ? path_ : path_ + "~" + std::to_string(number);
    if (rename_to(name)) return name;
  }
  fail(EEXIST);
  return {};
}

}  // namespace vramscope
