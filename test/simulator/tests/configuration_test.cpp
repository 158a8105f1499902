// The comma list of VRAMSCOPE_SIM.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/configuration.h"

#include <gtest/gtest.h>

namespace vramscope::simulator {
namespace {

TEST(Configuration, ReadsEveryKey) {
  const Parsed parsed = parse_configuration(
      "capacity=512MiB,devices=2,fail_alloc=3,sticky=4:700,slow_free_us=5,delay_us=6,"
      "slow_capture_us=7,small_fit=first,empty_chunks=one_kept,chunks_of=device,context_bytes="
      "300MiB,placement=slabs,busy_wait_ms=8,driver_version=11080,cancels_late=1,says_missing=1,"
      "shared=lab,lacks="
      "cuMemAllocAsync+"
      "cuInit");

  EXPECT_TRUE(parsed.complaints.empty());
  EXPECT_EQ(parsed.configuration.capacity, std::uint64_t{512} << 20);
  EXPECT_EQ(parsed.configuration.devices, 2);
  EXPECT_EQ(parsed.configuration.fail_alloc, 3u);
  EXPECT_EQ(parsed.configuration.sticky_after, 4u);
  EXPECT_EQ(parsed.configuration.sticky_code, 700);
  EXPECT_EQ(parsed.configuration.slow_free_us, 5u);
  EXPECT_EQ(parsed.configuration.delay_us, 6u);
  EXPECT_EQ(parsed.configuration.slow_capture_us, 7u);
  EXPECT_EQ(parsed.configuration.busy_wait_ms, 8u);
  EXPECT_EQ(parsed.configuration.footprint,
            (Footprint{Fit::first, EmptyChunks::one_kept, ChunksOf::device, Placement::slabs}));
  EXPECT_EQ(parsed.configuration.context_bytes, std::uint64_t{300} << 20);
  EXPECT_EQ(parsed.configuration.driver_version, 11080);
  EXPECT_TRUE(parsed.configuration.cancels_late);
  EXPECT_TRUE(parsed.configuration.says_missing);
  EXPECT_EQ(parsed.configuration.shared, "lab");
  EXPECT_EQ(parsed.configuration.lacks, (std::vector<std::string>{"cuMemAllocAsync", "cuInit"}));
}

TEST(Configuration, AModelSetsMemoryUnlessACapacityFollows) {
  const Configuration l4 = parse_configuration("capacity=1GiB,device=l4").configuration;
  const Configuration less = parse_configuration("device=l4,capacity=1GiB").configuration;
  const Parsed unknown = parse_configuration("device=L4,device=");

  EXPECT_EQ(l4.model.title(), "Vramscope simulated NVIDIA L4");
  EXPECT_EQ(l4.capacity, 23'612'293'120u);
  EXPECT_EQ(l4.footprint.placement, Placement::slabs);
  EXPECT_EQ(less.model.key, "l4");
  EXPECT_EQ(less.capacity, std::uint64_t{1} << 30);
  EXPECT_EQ(unknown.complaints.size(), 2u);
  EXPECT_EQ(unknown.configuration.model.title(), "Vramscope simulated device");
}

TEST(Configuration, KeepsDefaultsForEmptyText) {
  const Parsed parsed = parse_configuration("");

  EXPECT_TRUE(parsed.complaints.empty());
  EXPECT_EQ(parsed.configuration.capacity, std::uint64_t{16} << 30);
  EXPECT_EQ(parsed.configuration.devices, 1);
}

TEST(Configuration, ComplainsOncePerBadEntryAndGoesOn) {
  const Parsed parsed = parse_configuration(
      "capacity=-1,devices=0,nonsense,sticky=5,fail_alloc=2,delay_us=9x,lacks=cuInit+ls,"
      "capacity=99999999999999999999,capacity=20000000TiB,shared=,"
      "small_fit=worst,empty_chunks=,chunks_of=thread,placement=high");

  EXPECT_EQ(parsed.complaints.size(), 13u);
  EXPECT_EQ(parsed.configuration.fail_alloc, 2u);
  EXPECT_EQ(parsed.configuration.capacity, std::uint64_t{16} << 30);
}

}  // namespace
}  // namespace vramscope::simulator
