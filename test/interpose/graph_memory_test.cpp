// The memory of graphs, and how often an address is open.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_memory.h"

#include <gtest/gtest.h>

#include "interpose/open_counts.h"

namespace vramscope::test {
namespace {

template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

class GraphMemoryTest : public testing::Test {
 protected:
  template <class Handle>
  void end(Handle handle) {
    memory_.ended(handle, memory_.number_of(handle),
                  [this](Address address) { ends_.push_back(address); });
  }

  const CUgraph graph_ = handle<CUgraph>(1);
  const CUgraphExec run_ = handle<CUgraphExec>(2);
  GraphMemory memory_;
  std::vector<Address> ends_;
};

TEST_F(GraphMemoryTest, EndsWithTheGraph) {
  EXPECT_TRUE(memory_.added(graph_, 0x100));
  EXPECT_TRUE(memory_.added(graph_, 0x200));

  end(graph_);

  EXPECT_EQ(ends_, (std::vector<Address>{0x100, 0x200}));
  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AnExecutableKeepsItWhenTheGraphIsGone) {
  EXPECT_TRUE(memory_.added(graph_, 0x100));
  memory_.instantiated(run_, graph_);

  end(graph_);
  EXPECT_TRUE(ends_.empty());
  end(run_);

  EXPECT_EQ(ends_, (std::vector<Address>{0x100}));
}

TEST_F(GraphMemoryTest, GraphsWithoutMemoryAreNotKept) {
  memory_.instantiated(run_, graph_);

  EXPECT_EQ(memory_.number_of(graph_), GraphMemory::none);
  EXPECT_EQ(memory_.number_of(run_), GraphMemory::none);
}

TEST_F(GraphMemoryTest, AHandleThatAnotherThreadGotMeanwhileStays) {
  EXPECT_TRUE(memory_.added(graph_, 0x100));
  const GraphMemory::Number old = memory_.number_of(graph_);
  memory_.ended(graph_, old, [](Address) {});
  EXPECT_TRUE(memory_.added(graph_, 0x300));

  memory_.ended(graph_, old, [this](Address address) { ends_.push_back(address); });

  EXPECT_TRUE(ends_.empty());
  EXPECT_NE(memory_.number_of(graph_), GraphMemory::none);
}

TEST(OpenCounts, TheLastCloseEnds) {
  OpenCounts open;
  EXPECT_EQ(open.add(0x100), 1u);
  EXPECT_EQ(open.add(0x100), 2u);
  EXPECT_EQ(open.remove(0x100), 1u);
  EXPECT_EQ(open.remove(0x100), 0u);
  EXPECT_EQ(open.remove(0x100), 0u);
}

}  // namespace
}  // namespace vramscope::test
