// Lives of the handles of contexts and memory pools.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/contexts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "interpose/driver/pool_devices.h"
#include "interpose/loader/real.h"

namespace vramscope {

namespace {

template <class Handle>
Handle handle(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value);
}

constexpr std::uintptr_t kDefaultPool = 0x40;  // of device 0; that of device 1 is the next

CUresult default_pool(CUmemoryPool* pool, CUdevice device) {
  if (device > 1) return CUDA_ERROR_INVALID_DEVICE;
  *pool = handle<CUmemoryPool>(kDefaultPool + static_cast<std::uintptr_t>(device));
  return CUDA_SUCCESS;
}

// Each pool has reserved as many bytes as its handle says, and uses one.
CUresult attribute_of_pool(CUmemoryPool pool, CUmemPool_attribute name, void* value) {
  const bool reserved = name == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
  *static_cast<cuuint64_t*>(value) = reserved ? reinterpret_cast<std::uintptr_t>(pool) : 1;
  return CUDA_SUCCESS;
}

}  // namespace

// All of a driver that is asked here.
constinit std::atomic<const Real*> known_driver{nullptr};
constinit const Real no_driver{.cuDeviceGetDefaultMemPool = default_pool,
                               .cuMemPoolGetAttribute = attribute_of_pool};

namespace {

class ContextsTest : public testing::Test {
 protected:
  std::vector<std::uint32_t> end(Contexts::Generation life) {
    std::vector<std::uint32_t> places;
    contexts_->ended(context_, life, [&](Place place) { places.push_back(place.context); });
    return places;
  }
  [[nodiscard]] Place place() {
    Place found;
    EXPECT_TRUE(contexts_->find(context_, found));
    return found;
  }

  const CUcontext context_ = handle<CUcontext>(0x10);
  const std::unique_ptr<Contexts> contexts_ = std::make_unique<Contexts>();
};

TEST_F(ContextsTest, ALifeEndsOnce) {
  contexts_->created(context_, 1);
  const Contexts::Generation life = contexts_->generation_of(context_);
  EXPECT_EQ(place().device, 1);

  EXPECT_EQ(end(life), std::vector<std::uint32_t>{life});

  Place none;
  EXPECT_FALSE(contexts_->find(context_, none));
  EXPECT_EQ(contexts_->generation_of(context_), Contexts::unseen);
  EXPECT_TRUE(end(Contexts::unseen).empty());
}

TEST_F(ContextsTest, AHandleThatCameBackBeforeItsEndWasToldIsAnotherPlace) {
  contexts_->created(context_, 0);
  const Contexts::Generation first = contexts_->generation_of(context_);

  contexts_->created(context_, 0);  // by another thread
  const Place second = place();

  EXPECT_NE(second.context, first);
  EXPECT_EQ(end(first), std::vector<std::uint32_t>{first});
  EXPECT_EQ(place(), second);
}

TEST_F(ContextsTest, WhatIsRetainedAgainStaysThatLife) {
  contexts_->retained(context_, 0);
  const Place first = place();

  contexts_->retained(context_, 0);

  EXPECT_EQ(place(), first);
}

TEST_F(ContextsTest, AUseWaitsForTheCallThatMayEndItsContext) {
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);
  auto ending =
      std::make_unique<Contexts::Ending>(*contexts_, life, Contexts::Ending::Uses::are_waited_for);
  std::future<CUcontext> used =
      std::async(std::launch::async, [&] { return Contexts::Use(*contexts_, life).context(); });
  EXPECT_EQ(used.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);

  end(life);
  ending.reset();

  EXPECT_EQ(used.get(), nullptr);
}

TEST_F(ContextsTest, ACallThatFailedToEndAContextLeavesItToItsUsers) {
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);

  { const Contexts::Ending failed(*contexts_, life, Contexts::Ending::Uses::are_waited_for); }

  EXPECT_EQ(Contexts::Use(*contexts_, life).context(), context_);
}

TEST_F(ContextsTest, AnEndWaitsForUsesUnlessTheHandleStaysGood) {
  using Uses = Contexts::Ending::Uses;
  contexts_->created(context_, 0);
  const Contexts::Generation life = contexts_->generation_of(context_);
  auto use = std::make_unique<Contexts::Use>(*contexts_, life);

  { const Contexts::Ending of_primary(*contexts_, life, Uses::go_on); }
  std::future<void> ended = std::async(std::launch::async, [&] {
    const Contexts::Ending waits(*contexts_, life, Uses::are_waited_for);
  });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  use.reset();

  ended.get();
}

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
