// The device's accounts: the golden backend rule, the driver's layout, and the fault knobs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/simulated_device.h"

#include <gtest/gtest.h>

namespace vramscope::simulator {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(SimulatedDevice, AdvancesItsBumpPointerInSteps) {
  SimulatedDevice device;

  const Grant first = device.allocate(Memory::device, 1);
  const Grant second = device.allocate(Memory::device, 2 * kMiB + 1);
  const Grant third = device.allocate(Memory::device, 1);

  EXPECT_EQ(first.address, kDeviceBase);
  EXPECT_EQ(second.address, kDeviceBase + 2 * kMiB);
  EXPECT_EQ(third.address, kDeviceBase + 6 * kMiB);
}

TEST(SimulatedDevice, NeverReusesAnAddressUnderTheGoldenRule) {
  SimulatedDevice device;

  const Grant first = device.allocate(Memory::pinned, 5);
  ASSERT_TRUE(device.release(first.address).ok());
  const Grant second = device.allocate(Memory::pinned, 5);

  EXPECT_EQ(first.address, kPinnedBase);
  EXPECT_EQ(second.address, kPinnedBase + 2 * kMiB);
}

TEST(SimulatedDevice, KeepsOneAccountOfExactBytes) {
  SimulatedDevice device({.capacity = 100});

  ASSERT_TRUE(device.allocate(Memory::device, 60).status.ok());
  ASSERT_TRUE(device.allocate(Memory::pinned, 40).status.ok());
  const Grant refused = device.allocate(Memory::device, 1);

  EXPECT_EQ(refused.status, (Status{Result::out_of_memory, kOutOfMemory}));
  EXPECT_EQ(device.free_bytes(), 0u);
  EXPECT_EQ(device.counters(), (Counters{3, 1, 0, 100, 2}));
}

TEST(SimulatedDevice, RefusesHugeSizesWithoutWrapping) {
  SimulatedDevice golden;
  SimulatedDevice like_a_driver({.reuse_addresses = true});

  EXPECT_FALSE(golden.allocate(Memory::device, ~std::size_t{0}).status.ok());
  EXPECT_FALSE(like_a_driver.allocate(Memory::device, ~std::size_t{0}).status.ok());
}

TEST(SimulatedDevice, AFailedCallMovesNothing) {
  SimulatedDevice device;

  device.fail_call(1);
  const Grant refused = device.allocate(Memory::device, 5);
  const Grant granted = device.allocate(Memory::device, 5);

  EXPECT_EQ(refused.status.result, Result::out_of_memory);
  EXPECT_EQ(granted.address, kDeviceBase);
}

TEST(SimulatedDevice, CountsRefusedCallsTowardsTheFault) {
  SimulatedDevice device({.capacity = 10});

  device.fail_call(2);
  EXPECT_FALSE(device.allocate(Memory::device, 11).status.ok());
  EXPECT_FALSE(device.allocate(Memory::device, 1).status.ok());

  EXPECT_TRUE(device.allocate(Memory::device, 1).status.ok());
}

TEST(SimulatedDevice, ANewFaultReplacesAndZeroCancels) {
  SimulatedDevice device;

  device.fail_call(1);
  device.fail_call(2);
  EXPECT_TRUE(device.allocate(Memory::device, 1).status.ok());
  device.fail_call(0);

  EXPECT_TRUE(device.allocate(Memory::device, 1).status.ok());
}

TEST(SimulatedDevice, RefusesInteriorAndDoubleReleases) {
  SimulatedDevice device;
  const Address address = device.allocate(Memory::device, 1024).address;

  EXPECT_EQ(device.release(address + 512), (Status{Result::invalid, kInvalidValue}));
  EXPECT_TRUE(device.release(address).ok());
  EXPECT_EQ(device.release(address).result, Result::invalid);
}

TEST(SimulatedDevice, AnswersTheStickyErrorEverywhereOnceItIsDue) {
  SimulatedDevice device;

  device.set_sticky_after(1, 700);
  const Grant granted = device.allocate(Memory::device, 1);
  const Grant refused = device.allocate(Memory::device, 1);

  EXPECT_TRUE(granted.status.ok());
  EXPECT_EQ(refused.status, (Status{Result::failed, 700}));
  EXPECT_EQ(device.release(granted.address).code, 700);
}

TEST(SimulatedDevice, FindsTheAllocationAroundAnAddress) {
  SimulatedDevice device;
  const Address address = device.allocate(Memory::device, 1000).address;

  EXPECT_EQ(device.find(address + 999)->start, address);
  EXPECT_EQ(device.find(address)->bytes, 1000u);
  EXPECT_FALSE(device.find(address + 1000));
  EXPECT_FALSE(device.find(address - 1));
}

TEST(DriverLayout, SharesGranulesBetweenSmallAllocations) {
  SimulatedDevice device({.capacity = 4 * kMiB, .reuse_addresses = true});

  const Address first = device.allocate(Memory::device, 1).address;
  const Address second = device.allocate(Memory::device, 513).address;
  const Address large = device.allocate(Memory::device, kMiB + 1).address;

  EXPECT_EQ(second, first + 512);
  EXPECT_EQ(large % kGranule, 0u);
  EXPECT_EQ(device.free_bytes(), 0u);
}

TEST(DriverLayout, GivesFreedAddressesOutAgain) {
  SimulatedDevice device({.reuse_addresses = true});
  const Address first = device.allocate(Memory::device, 3 * kMiB).address;
  const Address small = device.allocate(Memory::device, 100).address;

  ASSERT_TRUE(device.release(first).ok());
  ASSERT_TRUE(device.release(small).ok());

  EXPECT_EQ(device.free_bytes(), device.capacity());
  EXPECT_EQ(device.allocate(Memory::device, 4 * kMiB).address, first);
}

// It once threw: pinned addresses were given to the granules of the device.
TEST(SimulatedDevice, ReleasesPinnedMemoryWhenAddressesAreReused) {
  SimulatedDevice device({.reuse_addresses = true});
  const Grant pinned = device.allocate(Memory::pinned, 5);

  EXPECT_TRUE(device.release(pinned.address).ok());
  EXPECT_FALSE(device.release(pinned.address).ok());

  EXPECT_EQ(device.free_bytes(), device.capacity());
}

}  // namespace
}  // namespace vramscope::simulator
