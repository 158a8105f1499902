// Reads the two formats of glibc's cache of libraries.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/library_cache.h"

#include <cstdint>
#include <cstring>

#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
// An older cache stands before it in some distributions (sysdeps/generic/dl-cache.h).
constexpr std::string_view kOldMagic = "ld.so-1.7.0";

struct OldHead {
  char magic[12];
  std::uint32_t count;
};
constexpr std::size_t kOldEntryBytes = 12;

struct Head {
  char magic[20];
  std::uint32_t count;
  std::uint32_t string_bytes;
  std::uint32_t unused[5];
};
struct Entry {
  std::int32_t flags;
  std::uint32_t name;  // bytes from the head on
  std::uint32_t path;
  std::uint32_t system;
  std::uint64_t capabilities;
};

template <class Record>
bool read_at(std::string_view bytes, std::size_t at, Record& record) {
  if (at > bytes.size() || bytes.size() - at < sizeof record) return false;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return true;
}

std::string_view text_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return "";
  const std::string_view rest = bytes.substr(at);
  const std::size_t end = rest.find('\0');
  return end == rest.npos ? "" : rest.substr(0, end);
}

// Where the newer format begins, behind an older one at the next multiple of 8.
std::string_view newer_part(std::string_view bytes) {
  OldHead old{};
  if (!bytes.starts_with(kOldMagic) || !read_at(bytes, 0, old)) return bytes;
  const std::size_t end = sizeof old + std::size_t{old.count} * kOldEntryBytes;
  const std::size_t at = (end + 7) / 8 * 8;
  return at < bytes.size() ? bytes.substr(at) : "";
}

}  // namespace

LibraryCache LibraryCache::of_system() {
  return LibraryCache(beginning_of("/etc/ld.so.cache", kMostBytes));
}

std::vector<std::string> LibraryCache::paths_of(std::string_view name) const {
  std::vector<std::string> paths;
  const std::string_view bytes = newer_part(bytes_);
  Head head{};
  if (!bytes.starts_with(kMagic) || !read_at(bytes, 0, head)) return paths;
  Entry entry{};
  for (std::uint32_t i = 0; i < head.count; ++i) {
    if (!read_at(bytes, sizeof head + i * sizeof entry, entry)) break;
    if (text_at(bytes, entry.name) == name) paths.emplace_back(text_at(bytes, entry.path));
  }
  return paths;
}

}  // namespace vramscope
