// --device-memory-limit as text.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/capacity_option.h"

#include <gtest/gtest.h>

#include "interpose/settings/options.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

CapacityOption limits(std::string_view text) {
  CapacityOption result;
  EXPECT_TRUE(read(text, result)) << text;
  return result;
}

TEST(CapacityOption, OneSizeIsForEveryDevice) {
  const CapacityOption every = limits("40GiB");

  EXPECT_EQ(every.bytes.front(), 40 * kGiB);
  EXPECT_EQ(every.bytes.back(), 40 * kGiB);
}

TEST(CapacityOption, AListIsByDevice) {
  const CapacityOption listed = limits("40GiB,10MiB,5");

  EXPECT_EQ(listed.bytes[0], 40 * kGiB);
  EXPECT_EQ(listed.bytes[1], std::uint64_t{10} << 20);
  EXPECT_EQ(listed.bytes[2], 5u);
  EXPECT_EQ(listed.bytes[3], 0u);
}

TEST(CapacityOption, ANameIsForOneDevice) {
  const CapacityOption named = limits("3:1TiB,0:7KiB");

  EXPECT_EQ(named.bytes[3], std::uint64_t{1} << 40);
  EXPECT_EQ(named.bytes[0], 7u << 10);
  EXPECT_EQ(named.bytes[1], 0u);
  EXPECT_EQ(limits("0:1GiB").bytes[1], 0u);
}

TEST(CapacityOption, BadTextChangesNothing) {
  for (const char* text :
       {"x", "1GiB,", ",1GiB", "0", "0:0", "64:1GiB", "-1:1GiB", "1:", ":1GiB", "1:1GiB,1:2GiB",
        "1GiB,0:2GiB", "1PiB", "18446744073709551616", "1:2:3", "1GiB 2GiB", "99999999999GiB"}) {
    CapacityOption before = limits("2:9GiB");
    EXPECT_FALSE(read(text, before)) << text;
    EXPECT_EQ(before, limits("2:9GiB")) << text;
  }
}

TEST(CapacityOption, WhatIsWrittenCanBeRead) {
  for (const char* written : {"none", "40GiB", "1000", "0:40GiB,1:1536MiB", "5:3KiB"}) {
    EXPECT_EQ(text(limits(written)), written);
  }
  EXPECT_EQ(text(limits("40GiB,10GiB")), "0:40GiB,1:10GiB");
  EXPECT_EQ(text(limits("1024MiB")), "1GiB");
}

TEST(CapacityOption, NamesTheDevicesBeyondThoseThereAre) {
  EXPECT_EQ(beyond(limits("3:1GiB"), 1), "GPU 3");
  EXPECT_EQ(beyond(limits("0:1GiB,3:1GiB,5:2GiB"), 3), "GPU 3, GPU 5");
  EXPECT_EQ(beyond(limits("2GiB,1GiB"), 1), "GPU 1");
  EXPECT_EQ(beyond(limits("2GiB,1GiB"), 2), "");
  EXPECT_EQ(beyond(limits("2GiB"), 1), "");
  EXPECT_EQ(beyond(limits("none"), 0), "");
}

TEST(CapacityOption, AreAnOption) {
  const Setting good{"VRAMSCOPE_DEVICE_MEMORY_LIMIT", "2GiB"};
  EXPECT_EQ(parse_options({&good, 1}).options.device_memory_limit.bytes[7], 2 * kGiB);

  const Setting bad{"VRAMSCOPE_DEVICE_MEMORY_LIMIT", "two"};
  const ParseResult result = parse_options({&bad, 1});
  EXPECT_FALSE(result.options.device_memory_limit.any());
  EXPECT_EQ(result.problems.at(0),
            "VRAMSCOPE_DEVICE_MEMORY_LIMIT='two' is not a size such as 40GiB, sizes by device such "
            "as 0:40GiB,1:10GiB, or none; using none");
}

}  // namespace
}  // namespace vramscope
