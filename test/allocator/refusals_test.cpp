// Segments that the backend does not take back: they stay what they were, and usable.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/allocator/allocator_fixture.h"
#include "test/allocator/golden_lines.h"

namespace vramscope::test {
namespace refusals_test {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};
constexpr Status kRefusal{Result::failed, 900};
constexpr Status kNoSegment{Result::invalid, 709};

class Refusals : public AllocatorFixture {
 protected:
  explicit Refusals(Limits limits = {.exact_fallback = false})
      : AllocatorFixture(100 * kMiB, limits) {}

  Outcome dedicated(std::size_t bytes) {
    return allocator_.allocate({.where = kDevice0, .bytes = bytes, .tag = 1, .dedicated = true});
  }
  Address cached(std::size_t bytes, Place where = kDevice0) {
    const Address address = address_of(bytes, 0, where);
    EXPECT_EQ(free(address), Result::ok);
    return address;
  }
  void refuse_all() {
    backend_.on_release([this](Place, Address) { device_.fail_release(1, kRefusal); });
  }
  void refuse_none() {
    backend_.on_release({});
    device_.fail_release(0, {});
  }
  // All counters and blocks as text, but those of the attempt itself.
  std::string books() const {
    Snapshot snapshot = allocator_.snapshot();
    for (DeviceSnapshot& device : snapshot.devices) {
      device.statistics.num_sync_all_streams = 0;
      device.statistics.num_alloc_retries = 0;
      device.statistics.num_ooms = 0;
    }
    std::string text;
    for (const DeviceSnapshot& device : snapshot.devices) {
      text += values_line(values_of(device.statistics)) + '\n';
    }
    return text + snapshot_line(snapshot);
  }
  HostStatistics host() const { return allocator_.snapshot().host; }
};

TEST_F(Refusals, ARefusedTrimChangesNothing) {
  cached(3 * kMiB);
  cached(30 * kMiB);
  const std::string before = books();

  refuse_all();
  allocator_.trim();

  EXPECT_EQ(books(), before);
  EXPECT_EQ(device_.counters().frees, 0u);
}

TEST_F(Refusals, TheSecondRefusalLeavesTheRestForTheNextTrim) {
  const Address first = cached(3 * kMiB);
  const Address second = cached(30 * kMiB);
  const Address third = cached(40 * kMiB);
  device_.fail_release(2, kRefusal);

  allocator_.trim();

  EXPECT_FALSE(allocator_.find(first).owned);
  EXPECT_TRUE(allocator_.find(second).owned);
  EXPECT_TRUE(allocator_.find(third).owned);
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(statistics().segment.all.freed, 1);
  EXPECT_EQ(statistics().reserved_bytes.all.current, std::int64_t{70 * kMiB});
  allocator_.trim();
  EXPECT_EQ(statistics().num_device_free, 3);
  EXPECT_EQ(device_.counters().live_count, 0u);
}

TEST_F(Refusals, WhatIsKeptServesTheNextRequest) {
  const Address address = cached(30 * kMiB);
  refuse_all();
  allocator_.trim();

  const Outcome out = allocate(30 * kMiB);

  EXPECT_EQ(out.source, Source::hit);
  EXPECT_EQ(out.address, address);
}

TEST_F(Refusals, NothingMoreIsAskedOnceACaptureHasBegun) {
  cached(3 * kMiB);
  cached(30 * kMiB);
  int asked = 0;
  backend_.on_release([&](Place, Address) {
    backend_.set_may_wait(false);
    ++asked;
  });

  allocator_.trim();

  EXPECT_EQ(asked, 1);
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(allocator_.idle_bytes(0), 30 * kMiB);
}

TEST_F(Refusals, TheLadderEndsWithTheBackendsOwnRefusal) {
  const Address address = cached(60 * kMiB);
  refuse_all();

  EXPECT_EQ(allocate(70 * kMiB).status, (Status{Result::out_of_memory, simulator::kOutOfMemory}));
  EXPECT_EQ(dedicated(70 * kMiB).status.result, Result::out_of_memory);

  EXPECT_EQ(statistics().num_ooms, 2);
  EXPECT_EQ(allocate(60 * kMiB).address, address);
}

class RefusedOversize : public Refusals {
 protected:
  RefusedOversize() : Refusals({.exact_fallback = false, .max_split_size = 25 * kMiB}) {}
};

TEST_F(RefusedOversize, TheLadderEndsAllTheSame) {
  cached(30 * kMiB);
  cached(40 * kMiB);
  const std::string before = books();
  refuse_all();

  EXPECT_EQ(allocate(65 * kMiB).status.result, Result::out_of_memory);

  EXPECT_EQ(books(), before);
}

class RefusedGarbage : public Refusals {
 protected:
  RefusedGarbage()
      : Refusals(
            {.memory_fraction = 1, .exact_fallback = false, .garbage_collection_threshold = 0.5}) {}
};

TEST_F(RefusedGarbage, CollectionEndsAndTheRequestIsServed) {
  cached(30 * kMiB);
  cached(40 * kMiB);
  refuse_all();

  EXPECT_TRUE(allocate(kMiB).status.ok());

  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(allocator_.idle_bytes(0), 70 * kMiB);
}

// While the backend is asked, the segment is nobody's.
TEST_F(Refusals, NobodyGetsASegmentThatIsOnItsWay) {
  const Address address = cached(30 * kMiB);
  Outcome meanwhile;
  backend_.on_release([&](Place, Address) {
    device_.fail_release(1, kRefusal);
    meanwhile = allocate(30 * kMiB);
    EXPECT_FALSE(allocator_.find(address).owned);
    EXPECT_EQ(allocator_.check_invariants(), "");
  });

  allocator_.trim();

  EXPECT_EQ(meanwhile.source, Source::new_segment);
  EXPECT_NE(meanwhile.address, address);
  EXPECT_EQ(statistics().reserved_bytes.all.current, std::int64_t{60 * kMiB});
  EXPECT_EQ(statistics().segment.all.allocated, 2);
  EXPECT_EQ(allocate(30 * kMiB).address, address);
}

TEST_F(Refusals, AResetMeanwhileLeavesNoNegativeCount) {
  cached(30 * kMiB);
  backend_.on_release([&](Place, Address) {
    device_.fail_release(1, kRefusal);
    allocator_.reset_accumulated();
  });

  allocator_.trim();

  EXPECT_EQ(statistics().segment.all.freed, 0);
  EXPECT_EQ(statistics().segment.all.current, 1);
}

TEST_F(Refusals, WhatWentWithItsContextIsForgotten) {
  cached(30 * kMiB);
  ASSERT_EQ(free(dedicated(4096).address), Result::ok);
  backend_.on_release([&](Place, Address) { device_.fail_release(1, kNoSegment); });

  allocator_.trim();

  EXPECT_EQ(statistics().reserved_bytes.all.current, 0);
  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(allocator_.idle_bytes(0), 0u);
}

TEST_F(Refusals, WhatIsRefusedWhileItsContextEndsIsForgotten) {
  cached(30 * kMiB);
  cached(40 * kMiB);
  cached(4096, kPinned);
  backend_.on_release([&](Place where, Address) {
    device_.fail_release(1, kRefusal);
    allocator_.forget_place(where);
  });

  allocator_.trim();
  allocator_.trim_pinned(kPinned);

  EXPECT_TRUE(allocator_.snapshot().segments.empty());
  EXPECT_EQ(statistics().reserved_bytes.all.current, 0);
  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(host().reserved_bytes.current, 0);
  EXPECT_EQ(host().num_host_free, 0);
}

TEST_F(Refusals, ADedicatedSegmentIsKeptAndReused) {
  const Address address = dedicated(4096).address;
  ASSERT_EQ(free(address), Result::ok);
  ASSERT_EQ(free(dedicated(8192).address), Result::ok);
  const std::string before = books();
  refuse_all();

  allocator_.trim();

  EXPECT_EQ(books(), before);
  EXPECT_EQ(allocator_.idle_bytes(0), 12288u);
  EXPECT_EQ(dedicated(4096).address, address);
}

TEST_F(Refusals, AnExportedSegmentIsKeptForTheNextTrimOnly) {
  const Address address = dedicated(4096).address;
  ASSERT_TRUE(allocator_.note_export(address).exported);
  refuse_all();

  EXPECT_EQ(allocator_.free(address).status, kRefusal);

  EXPECT_FALSE(allocator_.find(address).live);
  EXPECT_EQ(dedicated(4096).source, Source::new_segment);
  EXPECT_EQ(allocator_.idle_bytes(0), 4096u);
  refuse_none();
  allocator_.trim();
  EXPECT_FALSE(device_.find(address));
  EXPECT_EQ(statistics().num_device_free, 1);
}

// As every free of ours while a capture lasts.
TEST_F(Refusals, AnExportedSegmentIsFreedWhenACaptureBeginsMeanwhile) {
  const Address address = dedicated(4096).address;
  ASSERT_TRUE(allocator_.note_export(address).exported);
  backend_.on_release([&](Place, Address) {
    backend_.set_may_wait(false);
    device_.fail_release(1, kRefusal);
  });

  EXPECT_EQ(free(address), Result::ok);

  EXPECT_TRUE(device_.find(address));
  backend_.set_may_wait(true);
  refuse_none();
  allocator_.trim();
  EXPECT_FALSE(device_.find(address));
}

TEST_F(Refusals, PinnedMemoryIsKeptAndReused) {
  const Address address = cached(4096, kPinned);
  refuse_all();

  allocator_.trim_pinned(kPinned);

  EXPECT_EQ(host().segment.current, 1);
  EXPECT_EQ(host().segment.freed, 0);
  EXPECT_EQ(host().reserved_bytes.current, 4096);
  EXPECT_EQ(host().num_host_free, 0);
  EXPECT_EQ(allocate(4096, 0, kPinned).address, address);
}

class RefusedLargePinned : public Refusals {
 protected:
  RefusedLargePinned() : Refusals({.pinned_max_cached_size = kMiB}) {}
};

TEST_F(RefusedLargePinned, WhatShouldNotBeKeptIsKeptAfterAll) {
  const Address address = address_of(3 * kMiB, 0, kPinned);
  refuse_all();

  EXPECT_EQ(free(address), Result::ok);

  EXPECT_EQ(host().reserved_bytes.current, std::int64_t{3 * kMiB});
  EXPECT_EQ(allocate(3 * kMiB, 0, kPinned).address, address);
}

}  // namespace refusals_test
}  // namespace vramscope::test
