// Who is told apart: owners by their files' names, threads, streams, ranges.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <string>
#include <thread>
#include <vector>

#include "reporter/record/range_table.h"
#include "reporter/record/stack/owners.h"
#include "reporter/record/stream_table.h"
#include "reporter/record/thread_table.h"

namespace vramscope {
namespace {

TEST(Owners, KnowsFamiliesByTheirFiles) {
  const std::vector<std::pair<const char*, const char*>> kCases = {
      {"/usr/lib/libnccl.so.2", "NCCL"},
      {"/opt/venv/torch/lib/libnccl.so.2", "NCCL"},  // the library counts, not who ships it
      {"/opt/venv/torch/lib/libc10_cuda.so", "PyTorch"},
      {"/opt/venv/torch/_C.cpython-312.so", "PyTorch"},
      {"/opt/cuda/libcublasLt.so.12", "cuBLAS"},
      {"/opt/cuda/libcudnn_graph.so.9", "cuDNN"},
      {"/opt/cuda/libcufft.so.11", "cuFFT"},
      {"/venv/jaxlib/xla_extension.so", "JAX"},
      {"/venv/cupy_backends/cuda/api/runtime.cpython-312.so", "CuPy"},
      {"/home/me/.triton/cache/ab/__triton_launcher.so", "Triton"},
      {"/usr/lib/openmpi/mca_accelerator_cuda.so", "MPI"},
      {"/opt/filters/libblur.so.1", "libblur.so"}};
  for (const auto& [path, owner] : kCases) EXPECT_EQ(owner_of(path, false), owner) << path;
}

TEST(Owners, TakesTheProgramForItselfUnlessItIsAnInterpreter) {
  EXPECT_EQ(owner_of("/home/ann/torch/train", true), "program");
  EXPECT_EQ(owner_of("/usr/bin/python3.12", true), "Python");
}

TEST(Owners, AsksWhoCalledThoseThatOnlyPassOn) {
  for (const char* path : {"/usr/lib/libcudart.so.12", "/usr/lib/libcuda.so.1", "/lib/libc.so.6",
                           "/usr/lib/libffi.so.8", "/lib/libvramscope.so", ""}) {
    EXPECT_TRUE(only_passes_on(path)) << path;
  }
  EXPECT_FALSE(only_passes_on("/usr/lib/libcublas.so.12"));
  EXPECT_FALSE(only_passes_on("/usr/bin/train"));
}

TEST(ThreadTable, NumbersThreadsOnceAndReadsTheirNames) {
  ThreadTable table;
  const std::uint32_t mine = table.current();
  std::uint32_t other = 0;
  std::thread([&] {
    prctl(PR_SET_NAME, "worker");
    other = table.current();
  }).join();

  EXPECT_EQ(table.current(), mine);
  EXPECT_NE(mine, other);
  EXPECT_EQ(table.facts().at(other).name, "worker");
}

TEST(ThreadTable, CountsThreadsBeyondItsCapAsOthers) {
  ThreadTable table;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < ThreadTable::kMax + 2; ++i) {
    std::thread([&] { last = table.current(); }).join();
  }

  EXPECT_EQ(last, kOtherValue);
  EXPECT_EQ(table.facts().size(), ThreadTable::kMax + 1);
}

TEST(StreamTable, GivesAHandleANewNumberAfterItsStreamEnded) {
  StreamTable table;
  const std::uint32_t first = table.number_of(0x1000);
  EXPECT_EQ(table.number_of(0x1000), first);
  table.forget(0x1000);

  EXPECT_NE(table.number_of(0x1000), first);
  EXPECT_EQ(table.facts().size(), 3U);
}

TEST(RangeTable, NestsRangesAndTellsTheirDepth) {
  RangeTable ranges;
  EXPECT_EQ(ranges.push("", "outer"), 0);
  EXPECT_EQ(ranges.push("", "inner"), 1);
  const RangeFact inner = ranges.facts().at(ranges.current());

  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(ranges.facts().at(inner.parent).name, "outer");
  EXPECT_EQ(ranges.pop(""), 1);
  EXPECT_EQ(ranges.pop(""), 0);
  EXPECT_EQ(ranges.pop(""), -1);
  EXPECT_EQ(ranges.current(), 0U);
}

TEST(RangeTable, PopsTheLastRangeOfThatDomain) {
  RangeTable ranges;
  ranges.push("a", "first");
  ranges.push("b", "second");
  EXPECT_EQ(ranges.pop("a"), 0);

  EXPECT_EQ(ranges.facts().at(ranges.current()).name, "second");
  EXPECT_EQ(ranges.pop("a"), -1);
  EXPECT_EQ(ranges.pop("b"), 0);
}

TEST(RangeTable, TheRangeOpenedLastCountsWhoeverOpenedIt) {
  RangeTable ranges;
  ranges.push("", "own");
  const std::uint64_t id = ranges.start("", "whole");
  EXPECT_EQ(ranges.facts().at(ranges.current()).name, "whole");
  std::thread([&] { EXPECT_EQ(ranges.facts().at(ranges.current()).name, "whole"); }).join();
  ranges.push("", "inner");
  EXPECT_EQ(ranges.facts().at(ranges.current()).name, "inner");
  ranges.pop("");
  ranges.end(id);

  EXPECT_EQ(ranges.facts().at(ranges.current()).name, "own");
  ranges.pop("");
}

TEST(RangeTable, NamesBeyondItsCapAreOthers) {
  RangeTable ranges;
  for (std::size_t i = 0; i <= RangeTable::kMax; ++i) {
    ranges.push("", "step " + std::to_string(i));
    if (i == RangeTable::kMax) {
      EXPECT_EQ(ranges.current(), kOtherValue);
    }
    ranges.pop("");
  }

  EXPECT_EQ(ranges.facts().size(), RangeTable::kMax + 1);
}

}  // namespace
}  // namespace vramscope
