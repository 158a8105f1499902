// Who is told apart: owners by their files' names, threads, streams, ranges.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "reporter/base/range_path.h"
#include "reporter/record/range_table.h"
#include "reporter/record/stack/owners.h"
#include "reporter/record/stream_table.h"
#include "reporter/record/thread_table.h"

namespace vramscope {
namespace {

// As they enclose one another: each named by a letter, with the number of its parent.
std::vector<RangeFact> ranges_with(const std::vector<std::uint32_t>& parents) {
  std::vector<RangeFact> ranges(1);
  for (const std::uint32_t parent : parents) {
    RangeFact& range = ranges.emplace_back();
    range.parent = parent;
    range.name = static_cast<char>('a' + (ranges.size() - 2) % 26);
  }
  return ranges;
}

TEST(RangePath, NamesThoseAroundAndTheirDomains) {
  std::vector<RangeFact> ranges = ranges_with({0, 1});
  ranges[2].domain = "nccl";

  EXPECT_EQ(range_path(ranges, 1), "a");
  EXPECT_EQ(range_path(ranges, 2), "a/nccl:b");
  EXPECT_EQ(range_path(ranges, 0), "");
  EXPECT_EQ(range_path(ranges, 3), "");
}

TEST(RangePath, EndsWhereDamageMakesACircleOrADepth) {
  const std::vector<RangeFact> circle = ranges_with({2, 1, 9});
  EXPECT_EQ(range_path(circle, 1), "a");
  EXPECT_EQ(range_path(circle, 2), "a/b");
  EXPECT_EQ(range_path(circle, 3), "c");

  std::vector<std::uint32_t> parents(99);
  std::iota(parents.begin(), parents.end(), 0U);
  EXPECT_EQ(range_path(ranges_with(parents), 99).size(), 2 * RangeTable::kMaxDepth - 1);
}

TEST(Owners, KnowsLibrariesAndPackages) {
  const std::vector<std::pair<const char*, const char*>> kCases = {
      {"/usr/lib/libnccl.so.2", "NCCL"},
      {"/v/site-packages/torch/lib/libnccl.so.2", "NCCL"},  // the library counts, not who ships it
      {"/opt/pytorch/build/lib/libc10_cuda.so", "PyTorch"},
      {"/v/site-packages/torch/_C.cpython-312.so", "PyTorch"},
      {"/opt/cuda/libcublasLt.so.12", "cuBLAS"},
      {"/opt/cuda/libcudnn_graph.so.9", "cuDNN"},
      {"/opt/cuda/libcufft.so.11", "cuFFT"},
      {"/opt/cuda/libcufftw.so.11", "cuFFT"},
      {"/opt/cuda/libnppial.so.12", "NPP"},
      {"/apps/torch/.venv/lib/python3.12/site-packages/jaxlib/xla_extension.so", "JAX"},
      {"/apps/torch/lib/python3.12/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "JAX"},
      {"/v/dist-packages/cupy_backends/cuda/api/runtime.cpython-312.so", "CuPy"},
      {"/home/me/.triton/cache/ab/__triton_launcher.cpython-312-x86_64-linux-gnu.so", "Triton"},
      {"/usr/lib/openmpi/mca_accelerator_cuda.so", "MPI"},
      {"/usr/lib/libopen-pal.so.40", "MPI"},
      {"/usr/lib/libpython3.12.so.1.0", "Python"},
      {"/usr/lib/python3.12/lib-dynload/_bz2.cpython-312-x86_64-linux-gnu.so", "Python"},
      {"/v/site-packages/spacy/vocab.cpython-312-x86_64-linux-gnu.so", "spacy"},
      {"/v/site-packages/numpy.libs/libopenblas-21f3.so", "numpy"},
      {"/opt/filters/libblur.so.1", "libblur.so"}};
  for (const auto& [path, owner] : kCases) EXPECT_EQ(owner_of(path, false), owner) << path;
}

// A folder that happens to have a library's name says nothing, nor does a longer name.
TEST(Owners, TakesNoOtherPathForAKnownOne) {
  for (const OwnerRule& rule : owner_rules()) {
    const std::string name(rule.name);
    for (const std::string& folder : {"/apps/" + name, "/src/" + name + "/.venv/lib", name}) {
      EXPECT_EQ(owner_of(folder + "/libblur.so.1", false), "libblur.so") << folder;
      EXPECT_EQ(owner_of(folder + "/site-packages/spacy/vocab.so", false), "spacy") << folder;
    }
    EXPECT_EQ(owner_of("/lib/my" + name + ".so", false), "my" + name + ".so");
    EXPECT_EQ(owner_of("/v/site-packages/my" + name + "/a.so", false), "my" + name);
    if (rule.by != OwnerRule::By::prefix) {
      EXPECT_EQ(owner_of("/lib/" + name + "zzz.so", false), name + "zzz.so");
    }
  }
}

TEST(Owners, TakesTheProgramForItselfUnlessItIsAnInterpreter) {
  EXPECT_EQ(owner_of("/home/ann/torch/train", true), "program");
  EXPECT_EQ(owner_of("/home/ann/libtorch_train", true), "program");
  EXPECT_EQ(owner_of("/usr/bin/python3.12", true), "Python");
  EXPECT_EQ(owner_of("/home/ann/python_server", true), "program");
}

TEST(StackOwner, IsTheFirstObjectThatDoesNotPassOn) {
  StackOwner owner;
  EXPECT_EQ(owner.name(), "unknown");
  EXPECT_FALSE(owner.add_object("/usr/lib/libcudart.so.12", false));
  EXPECT_TRUE(owner.add_object("/usr/lib/libcublas.so.12", false));
  EXPECT_TRUE(owner.add_object("/v/site-packages/torch/_C.so", false));
  EXPECT_EQ(owner.name(), "cuBLAS");
}

TEST(StackOwner, AsksForThePackageOfPythonFunctions) {
  StackOwner numba;
  EXPECT_FALSE(numba.add_object("/usr/lib/libffi.so.8", false));
  EXPECT_FALSE(numba.add_object("/usr/bin/python3.12", true));
  EXPECT_FALSE(numba.add_python("/v/site-packages/cuda/bindings/driver.py"));
  EXPECT_TRUE(numba.add_python("/v/site-packages/numba_cuda/numba/cuda/cudadrv/driver.py"));
  EXPECT_EQ(numba.name(), "Numba");

  StackOwner script;
  EXPECT_FALSE(script.add_object("/usr/bin/python3.12", true));
  EXPECT_TRUE(script.add_python("/home/ann/torch/train.py"));
  EXPECT_TRUE(script.add_python("/v/site-packages/torch/__init__.py"));
  EXPECT_EQ(script.name(), "Python");

  StackOwner unread;  // a version of Python whose frames are not read
  EXPECT_FALSE(unread.add_object("/usr/bin/python3.99", true));
  EXPECT_TRUE(unread.add_object("/v/site-packages/torch/_C.so", false));
  EXPECT_EQ(unread.name(), "Python");
}

TEST(Owners, AsksWhoCalledThoseThatOnlyPassOn) {
  for (const char* path : {"/usr/lib/libcudart.so.12", "/usr/lib/libcuda.so.1", "/lib/libc.so.6",
                           "/usr/lib/libffi.so.8", "/lib/libvramscope.so", "",
                           "/v/site-packages/cuda/bindings/driver.cpython-312.so"}) {
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
