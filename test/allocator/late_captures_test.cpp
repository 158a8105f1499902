// A capture that begins after the allocator has asked whether there is one: the backend refuses,
// and no program is told of that.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "allocator/base/size_policy.h"
#include "allocator/caching_allocator.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope::test {
namespace {

constexpr Place kDevice{.kind = Kind::device};

// Says that it may wait, and then refuses while `captures`.
class Late final : public Backend {
 public:
  Grant reserve(Place where, std::size_t bytes) noexcept override {
    return backend_.reserve(where, bytes);
  }
  Reply release(Place where, Address segment) noexcept override {
    return captures ? kForbidden : backend_.release(where, segment);
  }
  Reply wait(Place where) noexcept override { return captures ? kForbidden : backend_.wait(where); }
  Reply probe(Place where) noexcept override {
    return captures ? kForbidden : backend_.probe(where);
  }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place where) noexcept override { return backend_.total_bytes(where); }

  bool captures = false;

 private:
  static constexpr Reply kForbidden{.status = {Result::forbidden, 0}};
  simulator::SimulatedDevice device_{{.capacity = 1024 * kMiB}};
  simulator::SimulatedBackend backend_{device_};
};

class LateCaptures : public testing::TestWithParam<ReuseTime> {
 protected:
  ~LateCaptures() override { EXPECT_EQ(allocator_.check_invariants(), ""); }
  Outcome allocate(bool dedicated = false) {
    return allocator_.allocate({.where = kDevice, .bytes = 32 * kMiB, .dedicated = dedicated});
  }
  [[nodiscard]] std::int64_t active() {
    return allocator_.snapshot().devices.at(0).statistics.active.all.current;
  }

  Late backend_;
  CachingAllocator allocator_{backend_, {.exact_fallback = false, .reuse = GetParam()}};
};

TEST_P(LateCaptures, AFreeSucceedsAndNothingIsHandedOutUnproved) {
  const Outcome first = allocate();

  backend_.captures = true;
  EXPECT_EQ(allocator_.free(first.address).status, Status{});
  const Outcome second = allocate();
  backend_.captures = false;

  EXPECT_EQ(second.status, Status{});
  EXPECT_NE(second.address, first.address);
  EXPECT_EQ(allocate().address, first.address);
}

TEST_P(LateCaptures, ABlockThatTheProgramNeverSawIsNoAllocationOfItsOwn) {
  EXPECT_EQ(allocator_.free(allocate().address).status, Status{});

  backend_.captures = true;
  EXPECT_EQ(allocate().status, Status{});
  backend_.captures = false;

  const Snapshot seen = allocator_.snapshot();
  EXPECT_EQ(seen.kinds.at(0).allocations, 2u);
  EXPECT_EQ(seen.kinds.at(0).frees, 1u);
  EXPECT_EQ(seen.tags.at(0).total_count, 2u);
}

TEST_P(LateCaptures, AnExportedBlockIsKeptUntilItMayGoBack) {
  const Outcome exported = allocate(true);
  EXPECT_TRUE(allocator_.note_export(exported.address).owned);

  backend_.captures = true;
  EXPECT_EQ(allocator_.free(exported.address).status, Status{});
  EXPECT_FALSE(allocator_.snapshot().segments.empty());
  backend_.captures = false;
  allocator_.trim();

  EXPECT_TRUE(allocator_.snapshot().segments.empty());
}

TEST_P(LateCaptures, IdleSegmentsStay) {
  EXPECT_EQ(allocator_.free(allocate().address).status, Status{});

  backend_.captures = true;
  allocator_.trim();
  EXPECT_EQ(allocator_.snapshot().segments.size(), 1u);
  backend_.captures = false;
  allocator_.trim();

  EXPECT_TRUE(allocator_.snapshot().segments.empty());
  EXPECT_EQ(active(), 0);
}

INSTANTIATE_TEST_SUITE_P(Table, LateCaptures,
                         testing::Values(ReuseTime::at_free, ReuseTime::at_reuse),
                         [](const auto& info) {
                           return info.param == ReuseTime::at_free ? "AtFree" : "AtReuse";
                         });

}  // namespace
}  // namespace vramscope::test
