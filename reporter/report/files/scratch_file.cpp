// Collects what is appended and writes it in large pieces.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/scratch_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "reporter/report/files/unnamed_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

std::string scratch_folder() {
  const char* const chosen = std::getenv("TMPDIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

}  // namespace

ScratchFile::ScratchFile() : folder_(scratch_folder()) {
  descriptor_ = unnamed_file(folder_);
  if (descriptor_ < 0) fail("cannot make a scratch file");
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      pending_(std::move(other.pending_)) {}

std::uint64_t ScratchFile::append(std::string_view bytes) {
  const std::uint64_t at = size();
  pending_.append(bytes);
  if (pending_.size() >= kPiece) flush();
  return at;
}

void ScratchFile::flush() {
  std::string_view left = pending_;
  while (!left.empty()) {
    const ssize_t count = pwrite(descriptor_, left.data(), left.size(),
                                 static_cast<off_t>(written_ + pending_.size() - left.size()));
    if (count < 0 && errno != EINTR) fail("cannot write to a scratch file");
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
  }
  written_ += pending_.size();
  pending_.clear();
}

std::size_t ScratchFile::read(std::uint64_t at, char* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        pread(descriptor_, to + done, bytes - done, static_cast<off_t>(at + done));
    if (count < 0 && errno != EINTR) fail("cannot read a scratch file");
    if (count == 0) break;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return done;
}

void ScratchFile::fail(const char* what) const {
  throw std::system_error(errno, std::generic_category(),
                          std::string(what) + " in '" + folder_ + "'");
}

}  // namespace vramscope
