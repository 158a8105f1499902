// FrameworkCaches finds the memory that a framework's cache holds: PyTorch's, CuPy's, JAX's,
// TensorFlow's, RMM's, CUB's. It is neither a leak nor growth of the program: the cache takes
// segments from CUDA, serves the program from them and keeps them. Workspaces that PyTorch keeps
// for cuBLAS count, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct SitePart;

struct FrameworkCache {
  std::string_view name;    // "PyTorch's cache"
  std::string_view inside;  // how to see what is in it, after "to see inside: "; "": no way
};
// In the order of the numbers that FrameworkCaches::of() gives.
[[nodiscard]] const std::vector<FrameworkCache>& framework_caches();

// A cache is known by a function of its own anywhere in the stack. Where functions have no names
// (stripped libraries, a report from another machine) PyTorch's and CuPy's are known by the library
// that asked and by sizes that only their caches ask for: PyTorch's asks for multiples of 2 MiB
// (CUDACachingAllocator.cpp, roundLarge), CuPy's pool for multiples of 512 bytes (memory.pyx).
// PyTorch's workspaces are then what was allocated right beside its code that makes handles of
// cuBLAS (both are in CublasHandlePool.cpp). The report and `name` outlive it. Threads: one.
class FrameworkCaches {
 public:
  FrameworkCaches(const Report& report, const NameFrame& name);

  // Which cache holds what that stack allocated of one kind; nothing: none. `frames`: whole,
  // innermost first. May throw bad_alloc.
  [[nodiscard]] std::optional<std::size_t> of(const std::vector<std::uint32_t>& frames,
                                              const SitePart& part);

 private:
  struct KnownFrame {
    bool looked_up = false;
    std::optional<std::size_t> cache;
  };
  [[nodiscard]] std::optional<std::size_t> by_name(const std::vector<std::uint32_t>& frames);
  [[nodiscard]] std::optional<std::size_t> by_size(const std::vector<std::uint32_t>& frames,
                                                   const SitePart& part) const;
  [[nodiscard]] bool is_workspace(const std::vector<std::uint32_t>& frames) const;

  const Report& report_;
  const NameFrame& name_;
  std::vector<KnownFrame> known_;  // by frame
  bool has_torch_cache_ = false;   // libc10_cuda.so asked for segments alone
  std::vector<std::uint32_t>
      handle_makers_;  // frames of PyTorch that called cuBLAS, which allocated
};

}  // namespace vramscope
