// Memory by handle: references, mappings and bindings decide when it ends.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/virtual_memory.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace vramscope::test {
namespace {

constexpr Place kPhysical{.kind = Kind::physical, .device = 1};
constexpr Place kImported{.kind = Kind::imported};
constexpr Place kMulticast{.kind = Kind::multicast};
constexpr Address kThere = 0x10000;

using Ends = std::vector<std::pair<Kind, Address>>;

class VirtualMemoryTest : public testing::Test {
 protected:
  auto note() {
    return [this](Kind kind, Address address) { ends_.emplace_back(kind, address); };
  }
  VirtualMemory::Number create(VirtualMemory::Handle handle, Place where = kPhysical) {
    return memory_.created(handle, where, note());
  }
  VirtualMemory::Mapped map(Address address, std::size_t bytes, VirtualMemory::Handle handle) {
    return memory_.mapped(address, bytes, handle, note());
  }
  void release(VirtualMemory::Handle handle) { memory_.released(handle, memory_.now(), note()); }
  void unmap(Address address, std::size_t bytes) {
    memory_.unmapped(address, bytes, memory_.now(), note());
  }

  VirtualMemory memory_;
  Ends ends_;
};

TEST_F(VirtualMemoryTest, EndsWithItsLastReference) {
  const VirtualMemory::Number number = create(7);
  memory_.retained(7);

  release(7);
  EXPECT_TRUE(ends_.empty());
  release(7);

  EXPECT_EQ(ends_, (Ends{{Kind::physical, number}}));
}

TEST_F(VirtualMemoryTest, LivesWhileItIsMapped) {
  const VirtualMemory::Number number = create(7);
  EXPECT_EQ(map(kThere, 0x100, 7).where, (Place{.kind = Kind::mapping, .device = 1}));

  release(7);
  EXPECT_TRUE(ends_.empty());
  unmap(kThere, 0x100);

  EXPECT_EQ(ends_, (Ends{{Kind::mapping, kThere}, {Kind::physical, number}}));
}

TEST_F(VirtualMemoryTest, AReferenceTakenThroughAMappingCounts) {
  create(7);
  static_cast<void>(map(kThere, 0x100, 7));
  release(7);
  memory_.retained(7);
  unmap(kThere, 0x100);
  ends_.clear();

  release(7);

  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(VirtualMemoryTest, OneUnmapMayEndSeveralMappingsButNoPartOfOne) {
  create(7);
  static_cast<void>(map(kThere, 0x100, 7));
  static_cast<void>(map(kThere + 0x100, 0x200, 7));
  static_cast<void>(map(kThere + 0x300, 0x100, 7));

  unmap(kThere, 0x250);
  EXPECT_EQ(ends_, (Ends{{Kind::mapping, kThere}}));
  unmap(kThere + 0x100, 0x300);

  EXPECT_EQ(ends_.size(), 3u);
}

TEST_F(VirtualMemoryTest, AHandleThatAnotherThreadGotMeanwhileStays) {
  const VirtualMemory::Number old = create(7);
  const VirtualMemory::Number before = memory_.now();
  create(7);
  EXPECT_EQ(ends_, (Ends{{Kind::physical, old}}));

  memory_.released(7, before, note());

  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(VirtualMemoryTest, AMappingThatAnotherThreadMadeMeanwhileStays) {
  create(7);
  static_cast<void>(map(kThere, 0x100, 7));
  const VirtualMemory::Number before = memory_.now();
  static_cast<void>(map(kThere, 0x100, 7));
  ends_.clear();

  memory_.unmapped(kThere, 0x100, before, note());

  EXPECT_TRUE(ends_.empty());
}

TEST_F(VirtualMemoryTest, MappingsOfImportedMemoryAreImported) {
  create(7, kImported);

  EXPECT_EQ(map(kThere, 0x100, 7).where.kind, Kind::imported);
  unmap(kThere, 0x100);

  EXPECT_EQ(ends_, (Ends{{Kind::imported, kThere}}));
}

TEST_F(VirtualMemoryTest, TilesOfAnArrayKeepTheirMemory) {
  const VirtualMemory::Number first = create(7);
  const VirtualMemory::Number second = create(8);
  const VirtualMemory::Number last = create(9);
  const VirtualMemory::Tiles here{.array = 5, .from = {0, 0, 0}, .to = {64, 64, 1}};
  const VirtualMemory::Tiles beside{.array = 5, .from = {64, 0, 0}, .to = {128, 64, 1}};
  const VirtualMemory::Tiles below{.array = 5, .level = 1, .from = {0, 0, 0}, .to = {64, 64, 1}};
  memory_.tiles_mapped(here, 7, note());
  memory_.tiles_mapped(beside, 8, note());
  memory_.tiles_mapped(below, 9, note());
  for (const VirtualMemory::Handle handle : {7, 8, 9}) release(handle);
  EXPECT_TRUE(ends_.empty());

  memory_.tiles_unmapped(here, note());
  EXPECT_EQ(ends_, (Ends{{Kind::physical, first}}));
  memory_.array_ended(5, note());

  EXPECT_EQ(ends_,
            (Ends{{Kind::physical, first}, {Kind::physical, second}, {Kind::physical, last}}));
}

TEST_F(VirtualMemoryTest, ATileThatIsMappedAnewLeavesWhatWasThere) {
  const VirtualMemory::Number old = create(7);
  create(8);
  const VirtualMemory::Tiles here{.array = 5, .from = {0, 0, 0}, .to = {64, 64, 1}};
  memory_.tiles_mapped(here, 7, note());
  release(7);

  memory_.tiles_mapped(here, 8, note());

  EXPECT_EQ(ends_, (Ends{{Kind::physical, old}}));
}

TEST_F(VirtualMemoryTest, AnUnknownHandleIsNobodys) {
  EXPECT_FALSE(map(kThere, 0x100, 7).known);
  release(7);
  memory_.retained(7);
  unmap(kThere, 0x100);

  EXPECT_TRUE(ends_.empty());
}

TEST_F(VirtualMemoryTest, AMulticastObjectKeepsWhatIsBoundToIt) {
  const VirtualMemory::Number object = create(1, kMulticast);
  const VirtualMemory::Number bound = create(2);
  const VirtualMemory::Number unbound = create(3);
  memory_.bound(1, 0, 2);
  memory_.bound(1, 0x100, 3);
  release(2);
  release(3);
  EXPECT_TRUE(ends_.empty());

  memory_.unbound(1, 1, 0x100, note());
  EXPECT_EQ(ends_, (Ends{{Kind::physical, unbound}}));
  release(1);

  EXPECT_EQ(ends_,
            (Ends{{Kind::physical, unbound}, {Kind::multicast, object}, {Kind::physical, bound}}));
}

}  // namespace
}  // namespace vramscope::test
