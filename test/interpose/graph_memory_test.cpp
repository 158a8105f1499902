// The memory of graphs, and how often an address is open.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/graph_memory.h"

#include <gtest/gtest.h>

#include "interpose/driver/import_counts.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope::test {
namespace {

template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

constexpr Place kGraphMemory{.kind = Kind::graph};

class GraphMemoryTest : public testing::Test {
 protected:
  void add(CUgraph graph, Address address, std::uint64_t bytes = 0x100) {
    EXPECT_TRUE(memory_.allocates(graph, {kGraphMemory, address, bytes, 0}));
  }
  template <class Handle>
  void end(Handle handle) {
    memory_.ended(handle, memory_.number_of(handle));
  }
  // `mapped`: what the driver then has for graphs.
  void launch(CUgraphExec executable, std::uint64_t mapped = GraphMemory::unknown) {
    memory_.launched(executable, {}, on_first(mapped));
  }
  static GraphMemory::Bytes on_first(std::uint64_t bytes) { return {bytes}; }
  void free(Address address) { memory_.freed(address, memory_.left_behind(address)); }
  [[nodiscard]] std::uint64_t held() const { return allocator_.capacity(0).held; }

  const CUgraph graph_ = handle<CUgraph>(1);
  const CUgraph other_ = handle<CUgraph>(2);
  const CUgraphExec run_ = handle<CUgraphExec>(3);
  const CUgraphExec other_run_ = handle<CUgraphExec>(4);
  simulator::SimulatedDevice device_{{}};
  simulator::SimulatedBackend backend_{device_};
  CachingAllocator allocator_{backend_, {}};
  Releases releases_;
  GraphMemory memory_{allocator_, releases_};
};

TEST_F(GraphMemoryTest, IsThereFromTheFirstLaunchToATrim) {
  add(graph_, 0x1000);
  add(graph_, 0x2000);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  EXPECT_TRUE(memory_.frees(graph_, 0x2000));
  memory_.instantiated(run_, graph_);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(memory_.needs(run_)[0], 0x200u);

  launch(run_);
  EXPECT_EQ(held(), 0x200u);
  EXPECT_EQ(memory_.needs(run_)[0], 0u);
  end(graph_);
  end(run_);
  EXPECT_EQ(held(), 0x200u);  // the driver keeps it
  memory_.trimmed(0, 0);

  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, WhatALaunchLeftBehindLivesUntilItIsFreed) {
  add(graph_, 0x1000);
  memory_.instantiated(run_, graph_);
  EXPECT_EQ(memory_.left_behind(0x1000), GraphMemory::none);
  launch(run_);
  end(run_);
  end(graph_);
  memory_.trimmed(0, 0);
  EXPECT_EQ(held(), 0x100u);

  free(0x1000);

  EXPECT_EQ(held(), 0x100u);  // the driver keeps it
  memory_.trimmed(0, 0);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(memory_.left_behind(0x1000), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AnExecutableThatEndsTwiceEndsOnce) {
  add(graph_, 0x1000);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  memory_.instantiated(run_, graph_);
  launch(run_);
  const GraphMemory::Number number = memory_.number_of(run_);
  memory_.ended(run_, number);

  memory_.ended(run_, number);  // by another thread, which asked for the number before

  EXPECT_EQ(memory_.number_of(run_), GraphMemory::none);
  memory_.instantiated(run_, graph_);
  launch(run_);
  EXPECT_EQ(held(), 0x100u);
}

TEST_F(GraphMemoryTest, AHandleThatCameBackMeansTheNextExecutable) {
  add(graph_, 0x1000);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  memory_.instantiated(run_, graph_);
  launch(run_);
  const GraphMemory::Number number = memory_.number_of(run_);

  memory_.instantiated(run_, other_);  // without memory
  memory_.trimmed(0, 0);
  EXPECT_EQ(held(), 0u);
  add(other_, 0x2000);
  memory_.instantiated(run_, other_);
  launch(run_);
  memory_.ended(run_, number);

  EXPECT_EQ(held(), 0x100u);
  EXPECT_NE(memory_.number_of(run_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AnExecutableKeepsWhatIsFreedOutside) {
  add(graph_, 0x1000);
  memory_.instantiated(run_, graph_);
  launch(run_);
  free(0x1000);
  EXPECT_EQ(held(), 0x100u);

  end(run_);
  EXPECT_EQ(held(), 0x100u);
  memory_.trimmed(0, 0);

  EXPECT_EQ(held(), 0u);
}

TEST_F(GraphMemoryTest, GraphsThatRunOneAfterTheOtherShareMemory) {
  add(graph_, 0x1000, 0x400);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  add(other_, 0x2000, 0x600);
  EXPECT_TRUE(memory_.frees(other_, 0x2000));
  memory_.instantiated(run_, graph_);
  memory_.instantiated(other_run_, other_);
  launch(run_, 0x400);
  EXPECT_EQ(memory_.needs(other_run_)[0], 0x200u);

  launch(other_run_, 0x600);
  EXPECT_EQ(held(), 0x600u);  // as the last one launched
  EXPECT_EQ(memory_.needs(run_)[0], 0u);
  launch(run_, 0x600);

  EXPECT_EQ(held(), 0x400u);
}

TEST_F(GraphMemoryTest, WhatALaunchLeftBehindIsNotShared) {
  add(graph_, 0x1000, 0x400);
  add(other_, 0x2000, 0x600);
  EXPECT_TRUE(memory_.frees(other_, 0x2000));
  memory_.instantiated(run_, graph_);
  memory_.instantiated(other_run_, other_);
  launch(run_, 0x400);

  EXPECT_EQ(memory_.needs(other_run_)[0], 0x600u);
  launch(other_run_, 0xA00);

  EXPECT_EQ(held(), 0xA00u);
}

TEST_F(GraphMemoryTest, AFreeThatIsToldAfterTheNextLaunchChangesNothing) {
  add(graph_, 0x1000);
  memory_.instantiated(run_, graph_);
  launch(run_);
  const GraphMemory::Number first = memory_.left_behind(0x1000);
  launch(run_);

  memory_.freed(0x1000, first);

  EXPECT_NE(memory_.left_behind(0x1000), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AnotherGraphsLaunchFreesIt) {
  add(graph_, 0x1000);
  EXPECT_TRUE(memory_.frees(other_, 0x1000));
  memory_.instantiated(run_, graph_);
  memory_.instantiated(other_run_, other_);
  launch(run_);
  end(run_);
  end(graph_);

  launch(other_run_);

  EXPECT_EQ(memory_.left_behind(0x1000), GraphMemory::none);
  memory_.trimmed(0, 0);
  EXPECT_EQ(held(), 0u);
}

TEST_F(GraphMemoryTest, AnUploadHoldsAndATrimGivesBack) {
  add(graph_, 0x1000, 0x400);
  memory_.instantiated(run_, graph_);
  memory_.uploaded(run_, {}, on_first(0x400));
  EXPECT_EQ(held(), 0x400u);
  EXPECT_EQ(memory_.left_behind(0x1000), GraphMemory::none);

  memory_.trimmed(0, 0x400);  // the driver has it still: it runs
  EXPECT_EQ(held(), 0x400u);
  memory_.trimmed(0, 0);
  EXPECT_EQ(held(), 0u);

  launch(run_);
  memory_.trimmed(0, 1024);
  EXPECT_EQ(held(), 0x400u);  // left behind
}

TEST_F(GraphMemoryTest, PromisedRoomIsGivenUp) {
  constexpr std::uint64_t kPages = 0x400000;  // what the limit counts
  allocator_.set_capacity(0, 4 * kPages);
  add(graph_, 0x1000, kPages);
  memory_.instantiated(run_, graph_);
  ASSERT_TRUE(allocator_.promise({.device = 0, .bytes = kPages}));
  EXPECT_EQ(held(), kPages);
  memory_.launched(run_, {kPages}, on_first(kPages));
  EXPECT_EQ(held(), kPages);

  ASSERT_TRUE(allocator_.promise({.device = 0, .bytes = kPages}));
  memory_.launched(run_, {kPages}, on_first(kPages));

  EXPECT_EQ(held(), kPages);
}

TEST_F(GraphMemoryTest, NodesOfOneGraphMayShareAnAddress) {
  add(graph_, 0x1000, 0x400);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  add(graph_, 0x1000, 0x200);
  memory_.instantiated(run_, graph_);

  launch(run_);

  EXPECT_EQ(held(), 0x400u);
  EXPECT_NE(memory_.left_behind(0x1000), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AChildThatMovesBringsItsMemory) {
  add(graph_, 0x1000);
  memory_.moved(graph_, other_);
  add(graph_, 0x2000);
  memory_.instantiated(run_, other_);

  launch(run_);
  EXPECT_EQ(held(), 0x200u);
  free(0x1000);
  free(0x2000);
  end(run_);
  end(other_);
  memory_.trimmed(0, 0);

  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, ChildrenOfChildrenEndWithTheOwnerOfAll) {
  const auto owner = handle<CUgraph>(7);
  add(graph_, 0x1000);
  memory_.moved(graph_, other_);
  memory_.moved(other_, owner);
  end(owner);
  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);

  add(graph_, 0x2000);  // a new one
  memory_.instantiated(run_, graph_);
  launch(run_);

  EXPECT_EQ(held(), 0x100u);
}

TEST_F(GraphMemoryTest, GraphsWithoutMemoryAreNotKept) {
  memory_.instantiated(run_, graph_);

  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);
  EXPECT_EQ(memory_.number_of(run_), GraphMemory::none);
  EXPECT_FALSE(memory_.any());
}

TEST_F(GraphMemoryTest, AHandleThatAnotherThreadGotMeanwhileStays) {
  add(graph_, 0x1000);
  const GraphMemory::Number old = memory_.number_of(graph_);
  memory_.ended(graph_, old);
  add(graph_, 0x3000);

  memory_.ended(graph_, old);

  EXPECT_NE(memory_.number_of(graph_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AnAddressThatComesBackIsTheNewGraphs) {
  add(graph_, 0x1000);
  add(other_, 0x1000, 0x300);
  memory_.instantiated(run_, graph_);
  memory_.instantiated(other_run_, other_);

  launch(run_);
  EXPECT_EQ(held(), 0u);
  launch(other_run_);

  EXPECT_EQ(held(), 0x300u);
}

// It went with the trim, and its end was then told of whatever lay at its address.
TEST_F(GraphMemoryTest, LeavesWhatAnotherThreadGotAtItsAddressBeforeItsEndIsTold) {
  add(graph_, 0x1000);
  EXPECT_TRUE(memory_.frees(graph_, 0x1000));
  memory_.instantiated(run_, graph_);
  launch(run_);
  EXPECT_TRUE(allocator_.adopt({.kind = Kind::device}, 0x1000, 0x40, 0).status.ok());

  memory_.trimmed(0, 0);

  EXPECT_TRUE(allocator_.find_direct(Kind::device, 0x1000).direct);
  EXPECT_EQ(held(), 0x40u);
}

TEST_F(GraphMemoryTest, EndsWhatAReleaseUnderwayHadAtItsAddress) {
  EXPECT_TRUE(allocator_.adopt({.kind = Kind::device}, 0x1000, 0x40, 0).status.ok());
  const Releases::Underway release(releases_, {.address = 0x1000, .newest = allocator_.newest()});
  add(graph_, 0x1000);
  memory_.instantiated(run_, graph_);
  launch(run_);

  EXPECT_EQ(release.ended().requested, 0x40u);
}

constexpr ImportCounts::Handle kHandle{1}, kOther{2};

TEST(ImportCounts, TheLastCloseEnds) {
  ImportCounts open;
  EXPECT_EQ(open.add(0x100, kHandle), 1u);
  EXPECT_EQ(open.add(0x100, kHandle), 2u);
  for (const std::uint64_t left : {1u, 0u, 0u}) {
    EXPECT_EQ(open.remove(0x100, open.begin_close(0x100)), left);
  }
}

// The driver gave the address to another import before it answered who closed the first one.
TEST(ImportCounts, AnotherHandleAtAnAddressThatIsBeingClosedIsOtherMemory) {
  ImportCounts open;
  EXPECT_EQ(open.add(0x100, kHandle), 1u);
  const ImportCounts::Number closing = open.begin_close(0x100);
  EXPECT_EQ(open.add(0x100, kOther), 1u);
  EXPECT_EQ(open.remove(0x100, closing), 0u);

  EXPECT_EQ(open.add(0x100, kOther), 2u) << "the close was not of it";
}

TEST(ImportCounts, AnotherHandleIsTheSameMemoryWhileSomebodyHasItOpen) {
  ImportCounts open;
  EXPECT_EQ(open.add(0x100, kHandle), 1u);
  EXPECT_EQ(open.add(0x100, kOther), 2u);
  const ImportCounts::Number closing = open.begin_close(0x100);
  EXPECT_EQ(open.add(0x100, kOther), 3u);
  EXPECT_EQ(open.remove(0x100, closing), 2u);

  open.refused(0x100, open.begin_close(0x100));
  EXPECT_EQ(open.add(0x100, kHandle), 3u);
}

}  // namespace
}  // namespace vramscope::test
