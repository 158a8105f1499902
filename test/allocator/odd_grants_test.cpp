// A backend that grants impossible addresses: asserted where assertions are on, survived where they
// are off, as in a release. This file is built both ways.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>

#include "allocator/base/size_policy.h"
#include "allocator/caching_allocator.h"

namespace vramscope::test {
namespace {

constexpr std::size_t kSegment = 32 * kMiB;  // shared with nobody

// Grants whatever address the test wants.
class Misbehaving final : public Backend {
 public:
  Grant reserve(Place, std::size_t) noexcept override { return {{}, next, 0}; }
  Reply release(Place, Address) noexcept override {
    ++releases;
    return {};
  }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return 1024 * kMiB; }

  Address next = 0x7f0000000000;
  int releases = 0;
};

struct Case {
  const char* name;
  Place where;
  bool dedicated;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class OddGrants : public testing::TestWithParam<Case> {
 protected:
  Outcome allocate(std::size_t bytes) {
    const Case& one = GetParam();
    return allocator_.allocate({.where = one.where, .bytes = bytes, .dedicated = one.dedicated});
  }
  // With assertions the call ends the process; else it is as if our own memory had run out: the
  // caller goes to the backend itself.
  void expect_refused(std::size_t bytes) {
#ifdef NDEBUG
    EXPECT_EQ(allocate(bytes).status, (Status{Result::failed, 0}));
    EXPECT_EQ(allocator_.check_invariants(), "");
#else
    EXPECT_DEATH(static_cast<void>(allocate(bytes)), "the backend granted an address");
#endif
  }

  Misbehaving backend_;
  CachingAllocator allocator_{backend_, {}};
};

// Giving it back could free the segment that is in use.
TEST_P(OddGrants, ARepeatedSegmentIsLeftAlone) {
  const Address address = allocate(kSegment).address;

  expect_refused(kSegment);

  EXPECT_EQ(backend_.releases, 0);
  EXPECT_EQ(allocator_.free(address).status, Status{});
}

TEST_P(OddGrants, ASegmentThatOverlapsAnotherIsLeftAlone) {
  ASSERT_TRUE(allocate(kSegment).status.ok());
  backend_.next += kMiB;

  expect_refused(kSegment);

  EXPECT_EQ(backend_.releases, 0);
}

TEST_P(OddGrants, NothingIsNoSegment) {
  backend_.next = 0;

  expect_refused(kMiB);

  EXPECT_EQ(backend_.releases, 0);
}

TEST_P(OddGrants, ASegmentDoesNotWrapAround) {
  backend_.next = ~Address{0} - 4095;

  expect_refused(kMiB);

  EXPECT_TRUE(allocator_.snapshot().segments.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, OddGrants,
    testing::Values(Case{"Pool", {}, false}, Case{"Dedicated", {}, true},
                    Case{"Pinned", {.kind = Kind::pinned, .context = 1}, false}),
    [](const auto& info) { return std::string(info.param.name); });

// Blocks of a pool are counted in units; one that has its segment for itself is not.
class OddGrantsOfPools : public OddGrants {};

TEST_P(OddGrantsOfPools, AMisalignedSegmentGoesBack) {
  backend_.next += 100;

  expect_refused(512);

#ifdef NDEBUG
  EXPECT_EQ(backend_.releases, 1);
#endif
}

INSTANTIATE_TEST_SUITE_P(Table, OddGrantsOfPools, testing::Values(Case{"Pool", {}, false}));

}  // namespace
}  // namespace vramscope::test
