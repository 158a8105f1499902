// Fat binaries, and damaged ones. What nvcc itself writes, compressed too, is in
// end_to_end/variables_test.py.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/fat_binary.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace vramscope::simulator {
namespace {

constexpr char kText[] = ".version 8.0\n.target sm_80\n.global .u32 number = 7;\n";

struct Entry {
  std::uint16_t kind = 1;  // PTX
  std::uint32_t header_bytes = 64;
  std::uint32_t packed_bytes = 0;
  std::uint32_t architecture = 80;
  std::uint64_t flags = 0x11;
  std::uint64_t unpacked_bytes = 0;
  std::string_view content = {kText, sizeof kText};
};

template <class Value>
void put(std::string& bytes, std::size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string fat_binary(const Entry& entry) {
  std::string bytes(16 + 64, '\0');
  put<std::uint32_t>(bytes, 0, 0xba55ed50);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, 16);
  put<std::uint64_t>(bytes, 8, 64 + entry.content.size());
  put(bytes, 16, entry.kind);
  put(bytes, 20, entry.header_bytes);
  put<std::uint64_t>(bytes, 24, entry.content.size());
  put(bytes, 32, entry.packed_bytes);
  put(bytes, 44, entry.architecture);
  put(bytes, 56, entry.flags);
  put(bytes, 72, entry.unpacked_bytes);
  return bytes.append(entry.content);
}

TEST(FatBinary, GivesItsTextWithoutThePadding) {
  const std::string image = fat_binary({});

  EXPECT_TRUE(is_fat_binary(image.data()));
  EXPECT_EQ(code_in(image.data()), kText);
  ASSERT_TRUE(code_for(image.data(), 90));
  EXPECT_EQ(code_for(image.data(), 90)->ptx, 80);
  EXPECT_FALSE(code_for(image.data(), 75));
}

TEST(FatBinary, IsFoundInsideItsWrapper) {
  const std::string image = fat_binary({});
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* binary;
    void* unused = nullptr;
  } const wrapper = {.binary = image.data()};

  EXPECT_TRUE(is_fat_binary(&wrapper));
  EXPECT_EQ(code_in(&wrapper), kText);
}

TEST(FatBinary, HasNoCodeWhereItIsDamaged) {
  constexpr std::uint64_t kZstd = 0x8000, kLz4 = 0x2000;
  const auto code = [](const Entry& entry) { return code_in(fat_binary(entry).data()); };

  EXPECT_EQ(code({.packed_bytes = 8, .flags = kZstd, .unpacked_bytes = 100}), "");
  EXPECT_EQ(code({.packed_bytes = 8, .flags = kLz4, .unpacked_bytes = 100}), "");
  EXPECT_EQ(code({.packed_bytes = 8, .flags = kZstd, .unpacked_bytes = ~std::uint64_t{0}}), "");
  EXPECT_EQ(code({.packed_bytes = ~0U, .flags = kZstd, .unpacked_bytes = 100}), "");
  EXPECT_EQ(code({.header_bytes = 0}), "");
  EXPECT_EQ(code({.header_bytes = ~0U}), "");
  EXPECT_EQ(code({.kind = 2}), "");  // no ELF file
  EXPECT_EQ(code({.kind = 9}), "");
  EXPECT_FALSE(is_fat_binary(std::string(16, 'x').data()));
}

}  // namespace
}  // namespace vramscope::simulator
