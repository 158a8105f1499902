// The cache of libraries in both of its formats, whole and damaged.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/library_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace vramscope {
namespace {

using Paths = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

void add(std::string& bytes, std::uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// As ldconfig writes it: magic, counts, entries of 24 bytes, texts.
std::string cache_of(const Pairs& libraries) {
  std::string entries;
  std::string texts;
  const std::size_t first = 48 + 24 * libraries.size();
  for (const auto& [name, path] : libraries) {
    add(entries, 0x303);
    add(entries, static_cast<std::uint32_t>(first + texts.size()));
    texts += name + '\0';
    add(entries, static_cast<std::uint32_t>(first + texts.size()));
    texts += path + '\0';
    entries.append(12, '\0');
  }
  std::string bytes = "glibc-ld.so.cache1.1";
  add(bytes, static_cast<std::uint32_t>(libraries.size()));
  add(bytes, static_cast<std::uint32_t>(texts.size()));
  bytes.append(20, '\0');
  return bytes + entries + texts;
}

TEST(LibraryCache, HasThePathsOfANameInTheirOrder) {
  const LibraryCache cache(
      cache_of({{"libb.so", "/b"}, {"liba.so", "/first/a"}, {"liba.so", "/second/a"}}));

  EXPECT_EQ(cache.paths_of("liba.so"), (Paths{"/first/a", "/second/a"}));
  EXPECT_EQ(cache.paths_of("liba"), Paths{});
}

TEST(LibraryCache, StandsBehindAnOlderOneInSomeDistributions) {
  std::string old("ld.so-1.7.0\0", 12);
  add(old, 1);
  old.append(12 + 4, '\0');  // an entry, and up to a multiple of 8

  EXPECT_EQ(LibraryCache(old + cache_of({{"liba.so", "/a"}})).paths_of("liba.so"), Paths{"/a"});
}

TEST(LibraryCache, OfAnyLengthAndContentIsReadWithinItsBytes) {
  const std::string whole = cache_of({{"liba.so", "/a"}, {"libb.so", "/b"}});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_LE(LibraryCache(whole.substr(0, bytes)).paths_of("liba.so").size(), 1U);
  }
  for (std::size_t at = 20; at < 96; ++at) {
    std::string wrong = whole;
    wrong[at] = '\xff';
    EXPECT_LE(LibraryCache(wrong).paths_of("liba.so").size(), 1U);
  }
}

#if defined(__GLIBC__)
TEST(LibraryCache, OfThisSystemKnowsTheCLibrary) {
  const Paths paths = LibraryCache::of_system().paths_of("libc.so.6");
  if (paths.empty()) GTEST_SKIP() << "this system has no cache";
  EXPECT_NE(paths.front().find("/libc.so.6"), std::string::npos);
}
#endif

}  // namespace
}  // namespace vramscope
