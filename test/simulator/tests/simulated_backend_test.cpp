// The Backend face of the simulated device and its knobs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/simulated_backend.h"

#include <gtest/gtest.h>

namespace vramscope::simulator {
namespace {

constexpr Place kDevice{.kind = Kind::device};
constexpr Place kPinned{.kind = Kind::pinned};

TEST(SimulatedBackend, TakesAddressesByKind) {
  SimulatedDevice device;
  SimulatedBackend backend(device);

  EXPECT_EQ(backend.reserve(kDevice, 1).address, kDeviceBase);
  EXPECT_EQ(backend.reserve(kPinned, 1).address, kPinnedBase);
  EXPECT_EQ(backend.total_bytes(kDevice), std::uint64_t{16} << 30);
}

TEST(SimulatedBackend, RefusesAReleaseToAnotherPlace) {
  SimulatedDevice device;
  SimulatedBackend backend(device);
  const Address segment = backend.reserve(kDevice, 1).address;

  EXPECT_EQ(backend.release(kPinned, segment).status.result, Result::invalid);
  EXPECT_TRUE(backend.release(kDevice, segment).status.ok());
  EXPECT_EQ(backend.release(kDevice, segment).status.result, Result::invalid);
}

TEST(SimulatedBackend, CountsWaitsAndMayForbidThem) {
  SimulatedDevice device;
  SimulatedBackend backend(device);

  EXPECT_TRUE(backend.wait(kDevice).status.ok());
  backend.set_may_wait(false);

  EXPECT_EQ(backend.waits(), 1u);
  EXPECT_FALSE(backend.may_wait(kDevice));
}

TEST(SimulatedBackend, AFailingWaitMakesTheErrorSticky) {
  SimulatedDevice device;
  SimulatedBackend backend(device);

  backend.fail_wait(719);

  EXPECT_EQ(backend.wait(kDevice).status, (Status{Result::failed, 719}));
  EXPECT_EQ(backend.reserve(kDevice, 1).status.code, 719);
}

TEST(SimulatedBackend, RunsTheHookBeforeARelease) {
  SimulatedDevice device;
  SimulatedBackend backend(device);
  const Address segment = backend.reserve(kDevice, 1).address;
  std::uint64_t live_at_hook = 0;

  backend.on_release([&](Place, Address) { live_at_hook = device.counters().live_count; });
  backend.release(kDevice, segment);

  EXPECT_EQ(live_at_hook, 1u);
  EXPECT_EQ(device.counters().live_count, 0u);
}

TEST(SimulatedBackend, ReportsVirtualTime) {
  SimulatedDevice device;
  SimulatedBackend backend(device);

  backend.set_call_ns(70);

  EXPECT_EQ(backend.reserve(kDevice, 1).ns, 70u);
  EXPECT_EQ(backend.wait(kDevice).ns, 70u);
}

}  // namespace
}  // namespace vramscope::simulator
