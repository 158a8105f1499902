// An allocator on a simulated device, for the tests of its public face.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "allocator/base/size_policy.h"
#include "allocator/caching_allocator.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::test {

inline constexpr Place kDevice0{.kind = Kind::device, .device = 0, .context = 0};
inline constexpr Place kOtherContext{.kind = Kind::device, .device = 0, .context = 1};

class AllocatorFixture : public testing::Test {
 protected:
  explicit AllocatorFixture(std::uint64_t capacity = 1024 * kMiB,
                            Limits limits = {.exact_fallback = false})
      : device_({.capacity = capacity}), backend_(device_), allocator_(backend_, limits) {}

  ~AllocatorFixture() override { EXPECT_EQ(allocator_.check_invariants(), ""); }

  Outcome allocate(std::size_t bytes, Tag tag = 0, Place where = kDevice0) {
    return allocator_.allocate({.where = where, .bytes = bytes, .tag = tag});
  }
  Address address_of(std::size_t bytes, Tag tag = 0, Place where = kDevice0) {
    const Outcome out = allocate(bytes, tag, where);
    EXPECT_TRUE(out.status.ok());
    return out.address;
  }
  Result free(Address address) { return allocator_.free(address).status.result; }

  DeviceStatistics statistics(std::size_t nth = 0) const {
    return allocator_.snapshot().devices.at(nth).statistics;
  }
  TagTotals tag(Tag tag) const { return allocator_.snapshot().tags.at(tag); }

  simulator::SimulatedDevice device_;
  simulator::SimulatedBackend backend_;
  CachingAllocator allocator_;
};

}  // namespace vramscope::test
