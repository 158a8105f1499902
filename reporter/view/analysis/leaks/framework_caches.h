// FrameworkCaches finds the memory that a framework's cache holds: PyTorch's, CuPy's, JAX's,
// TensorFlow's, RMM's, CUB's. It is neither a leak nor growth of the program: the cache takes
// segments from CUDA, serves the program from them and keeps them. Workspaces that PyTorch keeps
// for cuBLAS also count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct Site;
struct SitePart;

struct FrameworkCache {
  std::string_view name;    // "PyTorch's cache"
  std::string_view inside;  // after "to see its contents: "; "": not possible
  bool cuts_blocks = true;  // it serves parts of what it holds, and some may be idle
};
// Returns the cache of that name, or null.
[[nodiscard]] const FrameworkCache* framework_cache(std::string_view name);
// Returns the caches in the order of the indices that FrameworkCaches::of() returns.
[[nodiscard]] const std::vector<FrameworkCache>& framework_caches();

// Notes of each part of the report's sites which cache holds it, as far as the sizes of all
// requests of this process tell (SitePart::cache): in a sum of several processes they tell nothing.
// Takes the report of one process, before it is merged. May throw bad_alloc.
void note_caches(Report& report);

// A cache is recognised by one of its functions anywhere in the stack. If functions have no names
// (stripped libraries, a report from another machine), PyTorch's and CuPy's caches are recognised
// by the requesting library and by sizes that only they use: PyTorch's cache asks for multiples of
// 2 MiB (CUDACachingAllocator.cpp, roundLarge), CuPy's pool for multiples of 512 bytes
// (memory.pyx); XLA's pool, which is JAX's, asks once for a part of the device, or for pieces that
// double (bfc_allocator.cc, Extend). PyTorch's workspaces are then the allocations next to its code
// that makes cuBLAS handles (both are in CublasHandlePool.cpp). The report and `name` outlive this
// object. Threads: one.
class FrameworkCaches {
 public:
  FrameworkCaches(const Report& report, const NameFrame& name);

  // Returns the cache that holds what the stack allocated of one kind, or nothing. frames: the
  // whole stack, innermost first. May throw bad_alloc.
  [[nodiscard]] std::optional<std::size_t> of(const std::vector<std::uint32_t>& frames,
                                              const SitePart& part);

  // Returns the cache that holds everything that a site allocated of one kind, or nothing.
  [[nodiscard]] std::optional<std::size_t> of(const Site& site, Kind kind);

 private:
  struct KnownFrame {
    bool looked_up = false;
    std::optional<std::size_t> cache;
  };
  [[nodiscard]] std::optional<std::size_t> by_name(const std::vector<std::uint32_t>& frames);
  [[nodiscard]] std::optional<std::size_t> by_size(const std::vector<std::uint32_t>& frames,
                                                   const SitePart& part) const;
  friend void note_caches(Report& report);
  [[nodiscard]] bool is_of_cupy(const std::vector<std::uint32_t>& frames) const;
  // Returns whether the sizes of all requests of the process decide which cache it is.
  [[nodiscard]] bool is_told_by_process(const std::vector<std::uint32_t>& frames,
                                        const SitePart& part) const;
  [[nodiscard]] bool is_workspace(const std::vector<std::uint32_t>& frames) const;

  const Report& report_;
  const NameFrame& name_;
  std::vector<KnownFrame> known_;  // by frame
  bool has_torch_cache_ = false;   // libc10_cuda.so asked only for segments
  bool has_xla_pool_ = false;      // XLA's library asked as its pool does
  bool has_cupy_ = false;          // a file of it is in the report
  std::vector<std::uint32_t>
      handle_makers_;  // frames of PyTorch that called cuBLAS, which then allocated
};

}  // namespace vramscope
