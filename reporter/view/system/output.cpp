// Writes what is gathered whenever it has become long.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "reporter/report/files/write_signals.h"

namespace vramscope {
namespace {

// As open() would make it.
mode_t mode_of_others() {
  constexpr mode_t kAll = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  const mode_t mask = umask(0);
  umask(mask);
  return kAll & ~mask;
}

std::string end_of_links(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::canonical(path, error);
  return error ? path : whole.string();
}

// A file that was mounted by itself, as into a container: nothing can take its place. Kernels
// before 5.8 do not tell.
bool is_mounted(const std::string& path) {
  struct statx found {};
  return statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace

int descriptor_named_by(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string number = path.substr(folder.size());
    constexpr std::size_t kMostDigits = 7;
    const bool is_number = !number.empty() && number.size() <= kMostDigits &&
                           number.find_first_not_of("0123456789") == number.npos;
    return is_number ? std::atoi(number.c_str()) : -1;
  }
  return -1;
}

Output::Output(std::string path, Readers readers) : path_(std::move(path)), readers_(readers) {
  if (path_.empty()) {
    descriptor_ = STDOUT_FILENO;
  } else {
    open();
  }
}

Output::~Output() {
  if (descriptor_ > STDOUT_FILENO) ::close(descriptor_);
}

void Output::open() {
  const bool is_there = stat(path_.c_str(), &before_) == 0;
  const int named = descriptor_named_by(path_);
  if (named >= 0) {
    descriptor_ = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  } else if (is_there && !S_ISREG(before_.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    return open_file(is_there);
  }
  if (descriptor_ < 0) error_ = errno;
}

void Output::open_file(bool is_there) {
  replaces_ = is_there;
  target_ = is_there ? end_of_links(path_) : path_;
  const bool may_be_given_back = before_.st_uid == geteuid() || geteuid() == 0;
  if (is_there && access(target_.c_str(), W_OK) != 0) {
    error_ = errno;
    return;
  }
  const bool may_be_replaced = before_.st_nlink == 1 && may_be_given_back && !is_mounted(target_);
  if (!is_there || may_be_replaced) {
    const HeldEnd held;
    file_.emplace(target_);
    file_->open();
    error_ = file_->error();
    if (error_ == 0) unfinished_.emplace(file_->temporary_name());
    if (error_ == 0 || !is_there) return;
    file_.reset();
    error_ = 0;
  }
  kept_.emplace();
}

Output& Output::operator<<(std::string_view text) {
  text_ += text;
  flush_if_long();
  return *this;
}

void Output::flush_if_long() {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  if (text_.size() >= kLong) flush();
}

void Output::flush() {
  if (error_ == 0 && file_) {
    const HeldWriteSignals held;  // a file that may not grow so large is a line, and no end
    file_->write(text_);
  } else if (error_ == 0 && kept_) {
    (void)kept_->append(text_);
  } else {
    write(text_);
  }
  text_.clear();
}

void Output::write(std::string_view rest) {
  while (!rest.empty() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// What is whole, over the file that was judged. Its mode and its other names stay.
void Output::write_over() {
  kept_->flush();
  descriptor_ = ::open(target_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat now {};
  if (descriptor_ < 0 || fstat(descriptor_, &now) != 0) {
    error_ = errno;
  } else if (now.st_dev != before_.st_dev || now.st_ino != before_.st_ino) {
    error_ = ESTALE;
  }
  std::array<char, 1 << 16> part;
  for (std::uint64_t at = 0; at < kept_->size() && error_ == 0;) {
    const std::size_t got = kept_->read(at, part.data(), part.size());
    write({part.data(), got});
    at += got;
  }
  if (error_ == 0 && ftruncate(descriptor_, static_cast<off_t>(kept_->size())) != 0) {
    error_ = errno;
  }
}

std::string Output::end() {
  flush();
  if (error_ == 0 && file_) {
    const HeldWriteSignals held;
    if (!replaces_ && readers_ == Readers::others) file_->set_mode(mode_of_others());
    const bool is_done = replaces_ ? file_->replace(before_) : file_->publish_here();
    if (!is_done) error_ = file_->error();
    unfinished_.reset();
  } else if (error_ == 0 && kept_) {
    write_over();
  }
  if (descriptor_ > STDOUT_FILENO && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (error_ == 0) return "";
  const std::string name = path_.empty() ? "to standard output" : "'" + path_ + "'";
  return "cannot write " + name + ": " + std::strerror(error_);
}

}  // namespace vramscope
