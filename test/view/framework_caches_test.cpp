// Whether memory that frameworks' caches hold is recognised: by functions, else by who asked for
// which sizes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/framework_caches.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// A report whose frames are told by the file of their object, and perhaps their function.
class Made {
 public:
  Report report;

  std::uint32_t frame(const std::string& path, std::uint64_t offset,
                      const std::string& function = "") {
    const auto [known, is_new] =
        modules_.try_emplace(path, static_cast<std::uint32_t>(report.modules.size()));
    if (is_new) report.modules.emplace_back().path = path;
    report.frames.push_back({.module = known->second, .offset = offset});
    functions_.push_back(function);
    return static_cast<std::uint32_t>(report.frames.size() - 1);
  }
  // Of live memory, allocated at once.
  void site(std::vector<std::uint32_t> frames, std::uint64_t bytes, Kind kind = Kind::device) {
    Site& site = report.sites.emplace_back();
    site.frames = std::move(frames);
    SitePart part;
    part.kind = kind;
    part.totals = {.live_bytes = bytes, .live_count = 1, .total_bytes = bytes, .total_count = 1};
    site.parts.push_back(part);
  }
  // "": none holds the site's memory.
  std::string cache_of(std::size_t site) {
    const NameFrame name = [this](const Report&, const FrameFact& fact) {
      const auto index = static_cast<std::size_t>(&fact - report.frames.data());
      SourceFrame named;
      named.function = functions_[index];
      return std::vector<SourceFrame>{named};
    };
    FrameworkCaches caches(report, name);
    const auto found = caches.of(report.sites[site].frames, report.sites[site].parts.front());
    return found ? std::string(framework_caches()[*found].name) : "";
  }

 private:
  std::map<std::string, std::uint32_t> modules_;
  std::vector<std::string> functions_;
};

const std::string kTorch = "/v/site-packages/torch/lib/";

// As the frameworks' own symbols have them; the version in which each was read.
TEST(FrameworkCaches, AreKnownByTheirFunctions) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      // PyTorch 2.6 and 2.11
      {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::alloc_block("
       "c10::cuda::CUDACachingAllocator::Native::AllocParams&, bool, std::shared_ptr<"
       "c10::GatheredContext> const&, std::lock_guard<std::recursive_mutex>&)",
       "PyTorch's cache"},
      {"c10::cuda::CUDACachingAllocator::Native::(anonymous namespace)::ExpandableSegment::map("
       "c10::cuda::CUDACachingAllocator::Native::SegmentRange)",
       "PyTorch's cache"},
      {"at::CachingHostAllocatorImpl<c10::cuda::CUDAStream, at::cuda::EventPool::Event>::allocate("
       "unsigned long)",
       "PyTorch's cache of pinned memory"},
      {"at::cuda::getNewWorkspace()", "PyTorch's workspaces for cuBLAS"},
      {"at::cuda::(anonymous namespace)::setWorkspaceForHandle(cublasContext*, "
       "c10::cuda::CUDAStream)",
       "PyTorch's workspaces for cuBLAS"},
      {"at::cuda::getCUDABlasLtWorkspace()", "PyTorch's workspaces for cuBLAS"},
      // CuPy 13
      {"__pyx_f_4cupy_4cuda_6memory_22SingleDeviceMemoryPool_malloc", "CuPy's pool"},
      {"__pyx_f_4cupy_4cuda_13pinned_memory_16PinnedMemoryPool_malloc",
       "CuPy's pool of pinned memory"},
      // JAX 0.4 to 0.7
      {"tsl::BFCAllocator::Extend(unsigned long, unsigned long)", "JAX's pool"},
      {"xla::BFCAllocator::Extend(unsigned long, unsigned long)", "JAX's pool"},
      // TensorFlow 2.4 (later tsl::, see below)
      {"tensorflow::BFCAllocator::Extend(unsigned long, unsigned long)", "TensorFlow's pool"},
      {"tensorflow::GpuCudaMallocAsyncAllocator::AllocateRaw(unsigned long, unsigned long)",
       "TensorFlow's pool"},
      // RMM 24 and 25
      {"rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource>::expand_pool(unsigned long)",
       "RMM's pool"},
      {"rmm::mr::arena_memory_resource<rmm::mr::cuda_memory_resource>::do_allocate(unsigned long)",
       "RMM's pool"},
      // CUB 2
      {"cub::CachingDeviceAllocator::DeviceAllocate(int, void**, unsigned long, CUstream_st*)",
       "CUB's cache"},
      // And what is none.
      {"c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
       ""},
      {"train(model&)", ""}};
  for (const auto& [function, cache] : kCases) {
    Made made;
    // The innermost frames may be without a name, and the program's own stand behind.
    made.site({made.frame("/usr/lib/libcudart.so.13", 1), made.frame("/opt/libany.so", 2),
               made.frame("/opt/libany.so", 3, function), made.frame("/opt/train", 4, "main")},
              1000);
    EXPECT_EQ(made.cache_of(0), cache) << function;
  }
}

TEST(FrameworkCaches, AreTensorFlowsWhereItAsked) {
  Made made;
  made.site({made.frame("/v/site-packages/tensorflow/libtensorflow_framework.so.2", 1,
                        "tsl::BFCAllocator::Extend(unsigned long, unsigned long)")},
            1000);
  EXPECT_EQ(made.cache_of(0), "TensorFlow's pool");
}

TEST(FrameworkCaches, PyTorchsIsKnownBySegmentsWhereFunctionsHaveNoNames) {
  Made made;
  const std::uint32_t asking = made.frame(kTorch + "libc10_cuda.so", 1);
  made.site({made.frame("/usr/lib/libcudart.so.13", 1), asking}, 20 * kMebibyte);
  made.site({asking, made.frame(kTorch + "libtorch_cuda.so", 1)}, 2 * kMebibyte, Kind::physical);
  made.site({made.frame("/usr/lib/libcublas.so.13", 1)}, 32 * kMebibyte);
  EXPECT_EQ(made.cache_of(0), "PyTorch's cache");
  EXPECT_EQ(made.cache_of(1), "PyTorch's cache");
  EXPECT_EQ(made.cache_of(2), "");

  made.site({asking}, 2 * kMebibyte + 512);  // a tensor's own size: there is no cache
  EXPECT_EQ(made.cache_of(0), "");
}

TEST(FrameworkCaches, PyTorchsPinnedMemoryIsAlwaysOfItsCache) {
  Made made;
  made.site({made.frame(kTorch + "libtorch_cuda.so", 1)}, 32, Kind::pinned);
  made.site({made.frame("/opt/libloader.so", 1), made.frame(kTorch + "libtorch_cuda.so", 1)}, 32,
            Kind::pinned);
  EXPECT_EQ(made.cache_of(0), "PyTorch's cache of pinned memory");
  EXPECT_EQ(made.cache_of(1), "");  // another library's
}

TEST(FrameworkCaches, PyTorchsWorkspacesLieBesideItsHandlesOfCublas) {
  Made made;
  const std::string library = kTorch + "libtorch_cuda.so";
  const std::uint32_t asking = made.frame(kTorch + "libc10_cuda.so", 1);
  made.site({made.frame("/usr/lib/libcublas.so.13", 1), made.frame(library, 0x3a4bd29)}, 1024);
  made.site({asking, made.frame(library, 0x3a4b238)}, 33'000'000);
  made.site({asking, made.frame(library, 0xcd035f)}, 33'000'000);  // a tensor, elsewhere
  EXPECT_EQ(made.cache_of(0), "");                                 // cuBLAS's own
  EXPECT_EQ(made.cache_of(1), "PyTorch's workspaces for cuBLAS");
  EXPECT_EQ(made.cache_of(2), "");
}

TEST(FrameworkCaches, CupysPoolIsKnownByItsDepthAndSizes) {
  Made made;
  const std::string memory = "/v/site-packages/cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so";
  std::vector<std::uint32_t> deep = {
      made.frame("/v/site-packages/cupy_backends/cuda/api/runtime.cpython-312.so", 1)};
  for (std::uint64_t i = 0; i < 9; ++i) deep.push_back(made.frame(memory, i + 1));
  const std::vector<std::uint32_t> shallow(deep.begin(), deep.begin() + 4);
  made.site(deep, 42496);
  made.site(deep, 42497);
  made.site(shallow, 42496);
  EXPECT_EQ(made.cache_of(0), "CuPy's pool");
  EXPECT_EQ(made.cache_of(1), "");
  EXPECT_EQ(made.cache_of(2), "");
}

TEST(FrameworkCaches, JaxsPoolAsksOnceOrForPiecesThatDouble) {
  const std::string plugin = "/v/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so";
  Made once;
  once.site({once.frame(plugin, 1)}, 112'583'507'968, Kind::physical);
  once.site({once.frame(plugin, 2)}, 8, Kind::pinned);
  once.site({once.frame("/usr/lib/libcublas.so.13", 1), once.frame(plugin, 3)}, 32 * kMebibyte);
  EXPECT_EQ(once.cache_of(0), "JAX's pool");
  EXPECT_EQ(once.cache_of(1), "");
  EXPECT_EQ(once.cache_of(2), "");

  Made grown;
  grown.site({grown.frame(plugin, 1)}, 2 * kMebibyte);
  grown.site({grown.frame(plugin, 1)}, 64 * kMebibyte);
  EXPECT_EQ(grown.cache_of(0), "JAX's pool");
  grown.site({grown.frame(plugin, 1)}, 6 * kMebibyte);  // an array's own size: there is no pool
  EXPECT_EQ(grown.cache_of(0), "");
}

TEST(FrameworkCaches, HoldASiteOfWhichAllStacksAreTheirs) {
  Made made;
  made.site({made.frame("/usr/bin/python3", 1)}, 6 * kMebibyte);
  Site& site = made.report.sites[0];
  const std::uint32_t asking = made.frame(kTorch + "libc10_cuda.so", 1);
  site.whole = {{{asking}, site.parts}, {{asking}, site.parts}};
  EXPECT_TRUE(FrameworkCaches(made.report, {}).of(site, Kind::device));
  site.whole.push_back({{made.frame("/usr/lib/libcublas.so.13", 1)}, site.parts});
  EXPECT_FALSE(FrameworkCaches(made.report, {}).of(site, Kind::device));
}

// A view that shows Python's frames alone hides who asked.
TEST(FrameworkCaches, AskWholeStacks) {
  Made made;
  const std::uint32_t asking = made.frame(kTorch + "libc10_cuda.so", 1);
  made.site({made.frame("/usr/bin/python3", 1)}, 6 * kMebibyte);
  Site& site = made.report.sites[0];
  site.whole = {{{asking}, site.parts}};
  FrameworkCaches caches(made.report, {});
  EXPECT_TRUE(caches.of({asking}, site.parts.front()));
}

}  // namespace
}  // namespace vramscope
