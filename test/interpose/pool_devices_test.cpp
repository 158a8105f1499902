// Lives of the handles of memory pools.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/pool_devices.h"

#include <gtest/gtest.h>

#include <optional>

#include "test/interpose/made_pools.h"

namespace vramscope {
namespace {

CUmemPoolProps on_device(int device) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

TEST(PoolDevicesTest, APoolIsWhereItWasMadeUntilItIsDestroyed) {
  PoolDevices pools;
  const auto pool = handle<CUmemoryPool>(0x20);
  pools.created(pool, on_device(1));
  const PoolDevices::Ending ending = pools.ending(pool);
  EXPECT_EQ(pools.device_of(pool), 1);

  pools.created(pool, on_device(2));  // by another thread, before the end was told
  pools.destroyed(pool, ending);
  EXPECT_EQ(pools.device_of(pool), 2);

  pools.destroyed(pool, pools.ending(pool));
  EXPECT_EQ(pools.device_of(pool), std::nullopt);
  pools.created(pool, on_device(-1));
  EXPECT_EQ(pools.device_of(pool), std::nullopt);
}

TEST(PoolDevicesTest, PoolsAreAskedAboutUntilTheyMayHaveEnded) {
  PoolDevices pools;
  EXPECT_EQ(pools.use(0).reserved_bytes, 0U) << "nobody used one";
  const auto pool = handle<CUmemoryPool>(0x20);
  pools.created(pool, on_device(0));
  pools.served(0);
  EXPECT_EQ(pools.use(0).reserved_bytes, 0x20 + kDefaultPool);
  EXPECT_EQ(pools.use(0).used_bytes, 2U);
  EXPECT_EQ(pools.use(1).reserved_bytes, 0U) << "of another device";

  const PoolDevices::Ending refused = pools.ending(pool);
  EXPECT_EQ(pools.use(0).reserved_bytes, kDefaultPool);
  pools.not_destroyed(pool, refused);
  EXPECT_EQ(pools.use(0).reserved_bytes, 0x20 + kDefaultPool);

  {
    PoolDevices::Reset reset(pools, 0);
    EXPECT_EQ(pools.use(0).reserved_bytes, 0U);
  }
  EXPECT_EQ(pools.use(0).reserved_bytes, 0x20 + kDefaultPool) << "it was none";
  PoolDevices::Reset(pools, 0).happened();
  EXPECT_EQ(pools.use(0).reserved_bytes, 0U);
  EXPECT_EQ(pools.device_of(pool), 0);
  pools.not_destroyed(pool, pools.ending(pool));
  pools.served(0);
  EXPECT_EQ(pools.use(0).reserved_bytes, kDefaultPool) << "only what is there for certain";
}

TEST(PoolDevicesTest, ManagedPoolsMayLieOnTheHost) {
  PoolDevices pools;
  CUmemPoolProps properties = on_device(0);
  properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  pools.created(handle<CUmemoryPool>(0x20), properties);
  EXPECT_EQ(pools.use(0).reserved_bytes, 0U);
}

TEST(PoolDevicesTest, TheDriverSaysWhereItsOwnPoolsAre) {
  PoolDevices pools;

  EXPECT_EQ(pools.device_of(handle<CUmemoryPool>(kDefaultPool + 1)), 1);
  EXPECT_EQ(pools.device_of(handle<CUmemoryPool>(kDefaultPool + 2)), std::nullopt);
}

}  // namespace
}  // namespace vramscope
