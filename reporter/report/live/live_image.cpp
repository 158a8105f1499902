// Checks a live file and maps it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "allocator/base/own_file.h"
#include "reporter/report/live/live_owner.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLowest = std::uint64_t{1} << 32;   // lowest address that a part may have
constexpr std::uint64_t kHighest = std::uint64_t{1} << 47;  // of the program's half of addresses

[[noreturn]] void refuse(std::uint64_t offset, const std::string& expected) {
  throw std::runtime_error("byte " + std::to_string(offset + 1) + ": expected " + expected);
}

std::string why_not_ours(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return "is a folder";
  if (!S_ISREG(found.st_mode)) return "is no plain file";
  if (found.st_uid != geteuid()) return "belongs to another user, and is not trusted";
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return "may be opened by others (mode " + std::to_string(found.st_mode >> 6 & 7) +
           std::to_string(found.st_mode >> 3 & 7) + std::to_string(found.st_mode & 7) +
           "), and is not trusted";
  }
  if (found.st_nlink > 1) return "has several names, and is not trusted";
  return "";
}

// A copy of the header, which is not mapped, since the file may become shorter at any time.
struct HeaderBytes {
  alignas(LiveHeader) std::byte bytes[sizeof(LiveHeader)] = {};
  [[nodiscard]] const LiveHeader& header() const {
    return *std::launder(reinterpret_cast<const LiveHeader*>(bytes));
  }
};

HeaderBytes read_header(int file) {
  HeaderBytes read;
  const ssize_t got = pread(file, read.bytes, sizeof read.bytes, 0);
  const LiveHeader& header = read.header();
  const bool is_whole = got == static_cast<ssize_t>(sizeof read.bytes);
  if (got < 8 || header.magic != LiveHeader::kMagic) refuse(0, "a live file");
  if (!is_whole) refuse(static_cast<std::uint64_t>(got), "the rest of a live file's header");
  if (header.format != LiveHeader::kFormat || header.parts != kLiveParts) {
    refuse(offsetof(LiveHeader, format), "a live file of this version of vramscope (format " +
                                             std::to_string(LiveHeader::kFormat) + ", " +
                                             std::to_string(kLiveParts) + " parts), found format " +
                                             std::to_string(header.format) + ", " +
                                             std::to_string(header.parts) + " parts");
  }
  const bool is_address = header.base % kPage == 0 && header.base >= kLowest &&
                          header.base < kHighest - kLiveParts * kLivePartBytes;
  if (!is_address) refuse(offsetof(LiveHeader, base), "an address");
  return read;
}

std::uint64_t bytes_of(const LiveHeader& header, std::size_t part) {
  return header.bytes[part].load(std::memory_order_relaxed);
}

void check_bytes(const LiveHeader& header, std::uint64_t file_bytes) {
  for (std::size_t part = 0; part < kLiveParts; ++part) {
    const std::uint64_t bytes = bytes_of(header, part);
    const std::uint64_t place = offsetof(LiveHeader, bytes) + part * sizeof header.bytes[0];
    if (bytes > kLivePartBytes || bytes % kPage != 0) refuse(place, "whole pages of a part");
    if (part == 0 && bytes == 0) refuse(place, "the header's pages");
    const std::uint64_t end = part * kLivePartBytes + bytes;
    if (bytes != 0 && end > file_bytes) {
      refuse(file_bytes, "part " + std::to_string(part) + ", which ends at byte " +
                             std::to_string(end) + "; the file is too short");
    }
  }
}

void copy_part(int file, std::byte* to, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes != 0) {
    const ssize_t got = pread(file, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(offset, "the rest of a part");
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

void map_part(int file, const LiveHeader& header, std::size_t part, ImageOf how) {
  const std::uint64_t bytes = bytes_of(header, part);
  const std::uint64_t offset = part * kLivePartBytes;
  if (bytes == 0) return;
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  void* const wanted = reinterpret_cast<void*>(header.base + offset);
  const bool copies = how == ImageOf::moving;
  void* const got = copies ? mmap(wanted, bytes, kAccess, kFlags | MAP_ANONYMOUS, -1, 0)
                           : mmap(wanted, bytes, kAccess, kFlags, file, static_cast<off_t>(offset));
  if (got != wanted) {
    throw std::runtime_error(std::string("cannot be mapped where it was: ") +
                             std::strerror(got == MAP_FAILED ? errno : EEXIST));
  }
  if (copies) copy_part(file, static_cast<std::byte*>(got), offset, bytes);
}

std::uint64_t size_of(int file) {
  struct stat found {};
  if (fstat(file, &found) != 0) throw std::runtime_error(std::strerror(errno));
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace

OpenLiveFile::OpenLiveFile(const std::string& path)
    : path_(path),
      number_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  struct stat found {};
  if (number_ < 0) {
    problem_ = errno == ELOOP ? "is a link, which is not followed" : std::strerror(errno);
  } else if (fstat(number_, &found) != 0) {
    problem_ = std::strerror(errno);
  } else {
    problem_ = why_not_ours(found);
  }
}

OpenLiveFile::~OpenLiveFile() {
  if (number_ >= 0) close(number_);
}

bool OpenLiveFile::is_still_there() const {
  return is_named(AT_FDCWD, path_.c_str(), identity_of(number_));
}

bool OpenLiveFile::lock() const {
  constexpr long kMeanwhileNs = 5'000'000;
  return lock_alone(number_, kMeanwhileNs) && is_still_there();
}

void OpenLiveFile::remove() const { remove_own_file(path_, identity_of(number_)); }

std::string why_no_header(int file) {
  try {
    static_cast<void>(read_header(file));
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

const LiveHeader& map_live_image(int file, ImageOf how) {
  const HeaderBytes read = read_header(file);
  const LiveHeader& header = read.header();
  check_bytes(header, size_of(file));
  for (std::size_t part = 0; part < kLiveParts; ++part) map_part(file, header, part, how);
  // The checked copy is used, not the file's present content.
  std::memcpy(reinterpret_cast<void*>(header.base), read.bytes, sizeof read.bytes);
  return *reinterpret_cast<const LiveHeader*>(header.base);
}

const LiveHeader& map_live_image_again(int file, const LiveHeader& old) {
  const std::uint64_t base = old.base;
  std::array<std::uint64_t, kLiveParts> bytes{};
  for (std::size_t part = 0; part < kLiveParts; ++part) bytes[part] = bytes_of(old, part);
  for (std::size_t part = 0; part < kLiveParts; ++part) {
    if (bytes[part] != 0)
      munmap(reinterpret_cast<void*>(base + part * kLivePartBytes), bytes[part]);
  }
  return map_live_image(file, ImageOf::moving);
}

std::uint64_t live_bytes(int file) {
  try {
    const HeaderBytes read = read_header(file);
    check_bytes(read.header(), size_of(file));
    std::uint64_t bytes = 0;
    for (std::size_t part = 0; part < kLiveParts; ++part) bytes += bytes_of(read.header(), part);
    return bytes;
  } catch (const std::runtime_error&) {
    return 0;
  }
}

}  // namespace vramscope
