// Knows the caches of frameworks by their functions, or by whose library asked for which sizes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/framework_caches.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "reporter/record/stack/owners.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"

namespace vramscope {
namespace {

enum Cache : std::uint8_t {
  torch,
  torch_pinned,
  torch_workspace,
  cupy,
  cupy_pinned,
  xla,
  tensorflow,
  rmm,
  cub
};

// The words of SitePart::cache; kNoCache: the program's own.
struct CacheWord {
  std::string_view word;
  Cache cache;
};
constexpr CacheWord kWords[] = {
    {"pytorch", torch}, {"pytorch_workspace", torch_workspace}, {"cupy", cupy}, {"jax", xla}};
constexpr std::string_view kNoCache = "none";

std::optional<std::size_t> cache_of(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const CacheWord& one) { return one.word == word; });
  return found == std::end(kWords) ? std::nullopt : std::optional<std::size_t>(found->cache);
}

std::string word_of(std::optional<std::size_t> cache) {
  const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const CacheWord& one) { return cache == one.cache; });
  return std::string(found == std::end(kWords) ? kNoCache : found->word);
}

// A function whose name contains `part` belongs to the cache.
struct CacheFunction {
  std::string_view part;
  Cache cache;
};
constexpr CacheFunction kFunctions[] = {
    {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::", torch},
    {"c10::cuda::CUDACachingAllocator::Native::ExpandableSegment::", torch},
    {"CUDACachingAllocator::Native::(anonymous namespace)::ExpandableSegment::", torch},
    {"at::CachingHostAllocator", torch_pinned},
    {"at::cuda::getCUDAHostAllocator", torch_pinned},
    {"at::cuda::CUDACachingHostAllocator", torch_pinned},
    {"at::cuda::getNewWorkspace", torch_workspace},
    {"setWorkspaceForHandle", torch_workspace},
    {"getCUDABlasLtWorkspace", torch_workspace},
    {"SingleDeviceMemoryPool", cupy},
    {"PinnedMemoryPool", cupy_pinned},
    {"tsl::BFCAllocator::", xla},
    {"xla::BFCAllocator::", xla},
    {"tensorflow::BFCAllocator::", tensorflow},
    {"GpuCudaMallocAsyncAllocator::", tensorflow},
    {"rmm::mr::pool_memory_resource", rmm},
    {"rmm::mr::arena_memory_resource", rmm},
    {"cub::CachingDeviceAllocator::", cub},
};

std::string_view file_of(const Report& report, std::uint32_t frame) {
  if (frame >= report.frames.size() || report.frames[frame].code != kNoCode) return {};
  const std::uint32_t module = report.frames[frame].module;
  if (module >= report.modules.size()) return {};
  const std::string_view path = report.modules[module].path;
  return path.substr(path.rfind('/') + 1);
}

// The place in the stack of the innermost frame whose object does not only pass calls on.
std::size_t asking_frame(const Report& report, const std::vector<std::uint32_t>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::string_view file = file_of(report, frames[i]);
    if (!file.empty() && !only_passes_on(file)) return i;
  }
  return frames.size();
}

std::string_view asking_file(const Report& report, const std::vector<std::uint32_t>& frames) {
  const std::size_t asking = asking_frame(report, frames);
  return asking < frames.size() ? file_of(report, frames[asking]) : std::string_view();
}

// Calls use(frames, parts) with each stack of the report, whole.
template <class Use>
void for_each_stack(const Report& report, const Use& use) {
  for (const Site& site : report.sites) {
    if (site.whole.empty()) use(site.frames, site.parts);
    for (const RecordedStack& stack : site.whole) use(stack.frames, stack.parts);
  }
}

bool is_of_torch(std::string_view file) {
  return file.starts_with("libc10") || file.starts_with("libtorch");
}

bool takes_segments(Kind kind) { return kind == Kind::device || kind == Kind::physical; }

constexpr std::uint64_t kTorchSegment = std::uint64_t{2} << 20;
constexpr std::uint64_t kCupyBlock = 512;
// memory.pyx calls itself so deep where the pool asks for more, and less where it is switched off.
constexpr std::size_t kCupyFrames = 4;

// PyTorch without its cache (PYTORCH_NO_CUDA_MEMORY_CACHING) asks for each tensor's own size.
bool asks_for_segments_alone(const Report& report) {
  std::uint64_t segments = 0;
  std::uint64_t others = 0;
  for_each_stack(report, [&](const auto& frames, const std::vector<SitePart>& parts) {
    if (!asking_file(report, frames).starts_with("libc10_cuda")) return;
    for (const SitePart& part : parts) {
      if (!takes_segments(part.kind)) continue;
      (part.totals.total_bytes % kTorchSegment == 0 ? segments : others) += part.totals.total_count;
    }
  });
  return segments != 0 && others == 0;
}

bool is_of_xla(std::string_view file) {
  return file.starts_with("xla_cuda_plugin") || file.starts_with("xla_extension");
}

// A sum of `count` powers of two from 2 MiB on. The pool's pieces double up to the device's size.
bool may_be_doubled(std::uint64_t bytes, std::uint64_t count) {
  constexpr std::uint64_t kFirstPiece = std::uint64_t{2} << 20;
  const std::uint64_t pieces = bytes / kFirstPiece;
  return bytes % kFirstPiece == 0 && count <= pieces &&
         static_cast<std::uint64_t>(std::popcount(pieces)) <= count;
}

// Without its pool (XLA_PYTHON_CLIENT_ALLOCATOR=platform) XLA asks for each array.
bool asks_for_a_pool(const Report& report) {
  constexpr std::uint64_t kMostPieces = 24;  // from 2 MiB on more than any device has
  std::map<std::uint16_t, std::uint64_t> counts;
  bool doubles = true;
  for_each_stack(report, [&](const auto& frames, const std::vector<SitePart>& parts) {
    if (!is_of_xla(asking_file(report, frames))) return;
    for (const SitePart& part : parts) {
      if (!takes_segments(part.kind)) continue;
      counts[part.device] += part.totals.total_count;
      doubles = doubles && may_be_doubled(part.totals.total_bytes, part.totals.total_count);
    }
  });
  return !counts.empty() && std::all_of(counts.begin(), counts.end(), [&](const auto& device) {
    return device.second == 1 || (doubles && device.second <= kMostPieces);
  });
}

// The first frame of PyTorch behind `begin`, but for its allocator's; kNoFrame: there is none.
constexpr std::uint32_t kNoFrame = UINT32_MAX;
std::uint32_t torch_frame(const Report& report, const std::vector<std::uint32_t>& frames,
                          std::size_t begin) {
  for (std::size_t i = begin; i < frames.size(); ++i) {
    const std::string_view file = file_of(report, frames[i]);
    if (file.starts_with("libtorch")) return frames[i];
  }
  return kNoFrame;
}

// Frames of PyTorch that called cuBLAS where that allocated: as it makes a handle.
std::vector<std::uint32_t> handle_makers(const Report& report) {
  std::vector<std::uint32_t> makers;
  for_each_stack(report, [&](const std::vector<std::uint32_t>& frames, const auto&) {
    const std::size_t asking = asking_frame(report, frames);
    if (!asking_file(report, frames).starts_with("libcublas")) return;
    const std::uint32_t maker = torch_frame(report, frames, asking);
    if (maker != kNoFrame) makers.push_back(maker);
  });
  std::sort(makers.begin(), makers.end());
  makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
  return makers;
}

// Whether a file is in one of its packages: cupy, cupyx, cupy_backends.
bool names_cupy(const Report& report) {
  const auto is_its = [](const auto& file) { return file.path.find("cupy") != std::string::npos; };
  return std::ranges::any_of(report.modules, is_its) || std::ranges::any_of(report.sources, is_its);
}

}  // namespace

const std::vector<FrameworkCache>& framework_caches() {
  constexpr std::string_view kTorchInside =
      "vramscope run --preset pytorch, or torch.cuda.memory._snapshot()";
  static const std::vector<FrameworkCache> kCaches = {
      {"PyTorch's cache", kTorchInside},
      {"PyTorch's cache of pinned memory", ""},
      {"PyTorch's workspaces for cuBLAS", "", false},
      {"CuPy's pool", "call cupy.cuda.set_allocator(None) in the program"},
      {"CuPy's pool of pinned memory",
       "call cupy.cuda.set_pinned_memory_allocator(None) in the program"},
      {"JAX's pool", "vramscope run --preset jax"},
      {"TensorFlow's pool", ""},
      {"RMM's pool", ""},
      {"CUB's cache", ""},
  };
  return kCaches;
}

const FrameworkCache* framework_cache(std::string_view name) {
  const std::vector<FrameworkCache>& all = framework_caches();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FrameworkCache& cache) { return cache.name == name; });
  return found == all.end() ? nullptr : &*found;
}

FrameworkCaches::FrameworkCaches(const Report& report, const NameFrame& name)
    : report_(report),
      name_(name),
      known_(report.frames.size()),
      has_torch_cache_(asks_for_segments_alone(report)),
      has_xla_pool_(asks_for_a_pool(report)),
      has_cupy_(names_cupy(report)),
      handle_makers_(handle_makers(report)) {}

// The owner of each stack takes a fifth of the time in which a report is read.
bool FrameworkCaches::is_of_cupy(const std::vector<std::uint32_t>& frames) const {
  return has_cupy_ && owner_of_stack(report_, frames) == "CuPy";
}

bool FrameworkCaches::is_workspace(const std::vector<std::uint32_t>& frames) const {
  constexpr std::uint64_t kFunctionsOfOneFile = 8 << 10;  // bytes of code
  if (!asking_file(report_, frames).starts_with("libc10_cuda")) return false;
  const std::uint32_t asking = torch_frame(report_, frames, asking_frame(report_, frames));
  return asking != kNoFrame &&
         std::any_of(handle_makers_.begin(), handle_makers_.end(), [&](std::uint32_t maker) {
           const FrameFact& a = report_.frames[maker];
           const FrameFact& b = report_.frames[asking];
           const std::uint64_t apart = std::max(a.offset, b.offset) - std::min(a.offset, b.offset);
           return a.module == b.module && apart < kFunctionsOfOneFile;
         });
}

std::optional<std::size_t> FrameworkCaches::by_name(const std::vector<std::uint32_t>& frames) {
  if (!name_) return std::nullopt;
  for (const std::uint32_t frame : frames) {
    if (frame >= known_.size()) continue;
    KnownFrame& known = known_[frame];
    if (!std::exchange(known.looked_up, true)) {
      for (const SourceFrame& named : name_(report_, report_.frames[frame])) {
        const auto* const found = std::find_if(
            std::begin(kFunctions), std::end(kFunctions), [&](const CacheFunction& function) {
              return named.function.find(function.part) != std::string::npos;
            });
        if (found != std::end(kFunctions)) known.cache = found->cache;
      }
    }
    if (known.cache) return known.cache;
  }
  return std::nullopt;
}

bool FrameworkCaches::is_told_by_process(const std::vector<std::uint32_t>& frames,
                                         const SitePart& part) const {
  if (part.kind == Kind::pinned) return false;
  const std::string_view file = asking_file(report_, frames);
  if (file.starts_with("libc10_cuda")) return true;
  const bool is_of_pool = is_of_xla(file) || is_of_cupy(frames);
  return takes_segments(part.kind) && is_of_pool;
}

std::optional<std::size_t> FrameworkCaches::by_size(const std::vector<std::uint32_t>& frames,
                                                    const SitePart& part) const {
  if (part.cache) return cache_of(*part.cache);
  const std::string_view file = asking_file(report_, frames);
  if (has_torch_cache_ && takes_segments(part.kind) && file.starts_with("libc10_cuda")) {
    return torch;
  }
  if (has_xla_pool_ && takes_segments(part.kind) && is_of_xla(file)) return xla;
  if (part.kind != Kind::pinned && is_workspace(frames)) return torch_workspace;
  // PyTorch has no pinned memory but that of its cache.
  if (part.kind == Kind::pinned && is_of_torch(file)) return torch_pinned;
  const auto of_cupy = [&](std::string_view module) {
    return std::count_if(frames.begin(), frames.end(), [&](std::uint32_t frame) {
      return file_of(report_, frame).starts_with(module);
    });
  };
  if (!is_of_cupy(frames)) return std::nullopt;
  if (part.kind == Kind::pinned && of_cupy("pinned_memory.") != 0) return cupy_pinned;
  const bool is_pooled = part.totals.total_bytes % kCupyBlock == 0 &&
                         of_cupy("memory.") >= static_cast<std::ptrdiff_t>(kCupyFrames);
  return takes_segments(part.kind) && is_pooled ? std::optional<std::size_t>(cupy) : std::nullopt;
}

std::optional<std::size_t> FrameworkCaches::of(const std::vector<std::uint32_t>& frames,
                                               const SitePart& part) {
  std::optional<std::size_t> cache = by_name(frames);
  if (!cache) return by_size(frames, part);
  // The library that both have in common.
  if (*cache == xla && owner_of_stack(report_, frames) == "TensorFlow") cache = tensorflow;
  return cache;
}

std::optional<std::size_t> FrameworkCaches::of(const Site& site, Kind kind) {
  std::set<std::optional<std::size_t>> found;
  const auto look_at = [&](const auto& frames, const std::vector<SitePart>& parts) {
    for (const SitePart& part : parts) {
      if (part.kind == kind) found.insert(of(frames, part));
    }
  };
  if (site.whole.empty()) look_at(site.frames, site.parts);
  for (const RecordedStack& stack : site.whole) look_at(stack.frames, stack.parts);
  return found.size() == 1 ? *found.begin() : std::nullopt;
}

void note_caches(Report& report) {
  const FrameworkCaches caches(report, {});
  for (Site& site : report.sites) {
    for (SitePart& part : site.parts) {
      if (caches.is_told_by_process(site.frames, part))
        part.cache = word_of(caches.by_size(site.frames, part));
    }
  }
}

}  // namespace vramscope
