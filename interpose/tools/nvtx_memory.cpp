// SPDX-License-Identifier: Apache-2.0
#include "interpose/tools/nvtx_memory.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/base/capability.h"

namespace vramscope {
namespace {

// Types of nvToolsExtMem.h, which older toolkits lack. A batch's elements may be larger than ours:
// newer fields stand at their end.
struct Range {
  std::size_t size;
  const void* address;
};
struct HeapDescription {
  std::uint16_t compatibility, struct_size;
  std::uint32_t reserved;
  std::uint32_t usage;
  std::uint32_t type;
  std::size_t range_size;
  const Range* range;
  std::uint32_t category;
  std::uint32_t message_type;
  const void* message;
};
struct RegisterBatch {
  std::uint16_t compatibility, struct_size;
  std::uint32_t type;
  const void* heap;
  std::size_t count;
  std::size_t element_size;
  const void* elements;  // of Range
  const void** handles;  // out; null: none
};
struct ResizeBatch {
  std::uint16_t compatibility, struct_size;
  std::uint32_t type;
  std::size_t count;
  std::size_t element_size;
  const void* elements;  // of Range
};
struct UnregisterBatch {
  std::uint16_t compatibility, struct_size;
  std::uint32_t reference_type;
  std::size_t count;
  std::size_t element_size;
  const void* const* elements;
};
struct NamedRegion {
  std::uint32_t reference_type;
  std::uint32_t message_type;
  const void* region;
  const void* message;
  std::uint32_t category, reserved;
};
struct NameBatch {
  std::uint16_t compatibility, struct_size;
  std::uint32_t reserved;
  std::size_t count;
  std::size_t element_size;
  const void* elements;  // of NamedRegion
  std::size_t reserved_too;
};
constexpr std::uint32_t kAddresses = 1;  // the type of memory whose descriptions are ranges
enum Slot : std::size_t {
  heap_register,
  heap_unregister,
  heap_reset,
  regions_register,
  regions_resize,
  regions_unregister,
  regions_name,
  slots_known
};

// The functions of the user's own injection library; 0: none.
std::intptr_t others[slots_known];

template <class Result, class... Arguments>
Result ask_other(Slot slot, Arguments... arguments) {
  using Function = Result (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(others[slot]);
  if (function != nullptr) return function(arguments...);
  return Result();
}

constexpr std::size_t kMostHeaps = 256;
constexpr std::size_t kMostNames = 64;  // of a heap

void add(NamedRegions& to, std::uint64_t bytes) {
  to.live_bytes += bytes;
  ++to.live_count;
  ++to.total_count;
  to.peak_bytes = std::max(to.peak_bytes, to.live_bytes);
}

void take(NamedRegions& from, std::uint64_t bytes) {
  from.live_bytes -= bytes;
  --from.live_count;
}

// Heaps and regions by their handles. Threads: any.
class Heaps {
 public:
  void add_heap(const void* handle, NamedHeap heap) {
    const SystemLock guard(lock_);
    end_heap(handle);
    if (heaps_.size() >= kMostHeaps) {
      ++left_out_;
      return;
    }
    heap.is_live = true;
    by_handle_[handle] = heaps_.size();
    heaps_.push_back(std::move(heap));
  }

  void remove_heap(const void* handle) {
    const SystemLock guard(lock_);
    end_heap(handle);
  }

  void empty_heap(const void* handle) {
    const SystemLock guard(lock_);
    const auto found = by_handle_.find(handle);
    if (found != by_handle_.end()) drop_regions(found->second);
  }

  // handle: of the region; its address unless another tool gave one.
  void add_region(const void* heap, const void* handle, std::uint64_t bytes) {
    const SystemLock guard(lock_);
    end_region(handle);
    const auto found = by_handle_.find(heap);
    if (found == by_handle_.end() && !make_whole_space(heap)) return;
    const Region region{
        .heap = by_handle_.at(heap), .name = name_in(by_handle_.at(heap), ""), .bytes = bytes};
    regions_[handle] = region;
    begin(region);
  }

  void resize_region(const void* handle, std::uint64_t bytes) {
    const SystemLock guard(lock_);
    const auto found = regions_.find(handle);
    if (found != regions_.end()) replace(found->second, found->second.name, bytes);
  }

  void remove_region(const void* handle) {
    const SystemLock guard(lock_);
    end_region(handle);
  }

  void name_region(const void* handle, const std::string& name) {
    const SystemLock guard(lock_);
    const auto found = regions_.find(handle);
    if (found == regions_.end()) return;
    replace(found->second, name_in(found->second.heap, name), found->second.bytes);
  }

  [[nodiscard]] NamedMemory facts() {
    const SystemLock guard(lock_);
    return {.heaps = heaps_, .left_out = left_out_};
  }

 private:
  struct Region {
    std::size_t heap = 0;
    std::size_t name = 0;  // index in the heap's names
    std::uint64_t bytes = 0;
  };

  // Regions without a heap of their own lie in the address space.
  bool make_whole_space(const void* heap) VRAMSCOPE_REQUIRES(lock_) {
    if (heap != nullptr || heaps_.size() >= kMostHeaps) return false;
    by_handle_[nullptr] = heaps_.size();
    heaps_.push_back({.name = "", .is_live = true});
    return true;
  }

  // The last place is for all names beyond those that are kept.
  std::size_t name_in(std::size_t heap, const std::string& name) VRAMSCOPE_REQUIRES(lock_) {
    std::vector<NamedRegions>& names = heaps_[heap].names;
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const NamedRegions& one) { return one.name == name; });
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    if (names.size() >= kMostNames) {
      ++left_out_;
      return names.size() - 1;
    }
    names.push_back({.name = name});
    return names.size() - 1;
  }

  void begin(const Region& region) VRAMSCOPE_REQUIRES(lock_) {
    add(heaps_[region.heap].regions, region.bytes);
    add(heaps_[region.heap].names[region.name], region.bytes);
  }
  void end(const Region& region) VRAMSCOPE_REQUIRES(lock_) {
    take(heaps_[region.heap].regions, region.bytes);
    take(heaps_[region.heap].names[region.name], region.bytes);
  }
  // The same region under another name or with another size: it is counted once in each total.
  void replace(Region& region, std::size_t name, std::uint64_t bytes) VRAMSCOPE_REQUIRES(lock_) {
    NamedHeap& heap = heaps_[region.heap];
    end(region);
    --heap.regions.total_count;
    --heap.names[region.name].total_count;
    region.name = name;
    region.bytes = bytes;
    begin(region);
  }
  void end_region(const void* handle) VRAMSCOPE_REQUIRES(lock_) {
    const auto found = regions_.find(handle);
    if (found == regions_.end()) return;
    end(found->second);
    regions_.erase(found);
  }
  void drop_regions(std::size_t heap) VRAMSCOPE_REQUIRES(lock_) {
    for (auto region = regions_.begin(); region != regions_.end();) {
      const bool is_inside = region->second.heap == heap;
      if (is_inside) end(region->second);
      region = is_inside ? regions_.erase(region) : std::next(region);
    }
  }
  void end_heap(const void* handle) VRAMSCOPE_REQUIRES(lock_) {
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) return;
    drop_regions(found->second);
    heaps_[found->second].is_live = false;
    by_handle_.erase(found);
  }

  SystemMutex lock_;
  std::vector<NamedHeap> heaps_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<const void*, std::size_t> by_handle_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<const void*, Region> regions_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t left_out_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
};
// Made at first use and never destroyed, because pools may end in the program's last exit handlers.
std::atomic<Heaps*> heaps{nullptr};

// Calls f with the heaps. What it lacks memory for goes unnamed.
template <class F>
void with_heaps(F&& f) noexcept {
  unseen([&] {
    Heaps* const known = heaps.load(std::memory_order_acquire);
    if (known != nullptr && keeps_ranges()) f(*known);
  });
}

// Returns element `i` of a batch.
template <class Element>
const Element& element(const void* elements, std::size_t size, std::size_t i) {
  return *reinterpret_cast<const Element*>(static_cast<const char*>(elements) + i * size);
}

// Bodies. The other library is called first: its handles are the program's.
const void* register_heap(const void* domain, const HeapDescription* heap) {
  const void* handle = ask_other<const void*>(heap_register, domain, heap);
  if (heap == nullptr || heap->type != kAddresses || heap->range == nullptr) return handle;
  if (handle == nullptr) handle = heap->range->address;
  with_heaps([&](Heaps& all) {
    all.add_heap(handle, {.name = nvtx_name(domain, heap->message_type, heap->message),
                          .address = reinterpret_cast<std::uintptr_t>(heap->range->address),
                          .bytes = heap->range->size});
  });
  return handle;
}
void unregister_heap(const void* domain, const void* heap) {
  ask_other<void>(heap_unregister, domain, heap);
  with_heaps([&](Heaps& all) { all.remove_heap(heap); });
}
void reset_heap(const void* domain, const void* heap) {
  ask_other<void>(heap_reset, domain, heap);
  with_heaps([&](Heaps& all) { all.empty_heap(heap); });
}
void register_regions(const void* domain, const RegisterBatch* batch) {
  ask_other<void>(regions_register, domain, batch);
  if (batch == nullptr || batch->type != kAddresses || batch->elements == nullptr) return;
  const bool has_handles = batch->handles != nullptr;
  const bool are_theirs = has_handles && others[regions_register] != 0;
  for (std::size_t i = 0; i < batch->count; ++i) {
    const Range& range = element<Range>(batch->elements, batch->element_size, i);
    if (has_handles && !are_theirs) batch->handles[i] = range.address;
    with_heaps([&](Heaps& all) {
      all.add_region(batch->heap, are_theirs ? batch->handles[i] : range.address, range.size);
    });
  }
}
void resize_regions(const void* domain, const ResizeBatch* batch) {
  ask_other<void>(regions_resize, domain, batch);
  if (batch == nullptr || batch->type != kAddresses || batch->elements == nullptr) return;
  for (std::size_t i = 0; i < batch->count; ++i) {
    const Range& range = element<Range>(batch->elements, batch->element_size, i);
    with_heaps([&](Heaps& all) { all.resize_region(range.address, range.size); });
  }
}
void unregister_regions(const void* domain, const UnregisterBatch* batch) {
  ask_other<void>(regions_unregister, domain, batch);
  if (batch == nullptr || batch->elements == nullptr) return;
  for (std::size_t i = 0; i < batch->count; ++i) {
    const void* const region = element<const void*>(batch->elements, batch->element_size, i);
    with_heaps([&](Heaps& all) { all.remove_region(region); });
  }
}
void name_regions(const void* domain, const NameBatch* batch) {
  ask_other<void>(regions_name, domain, batch);
  if (batch == nullptr || batch->elements == nullptr) return;
  for (std::size_t i = 0; i < batch->count; ++i) {
    const auto& named = element<NamedRegion>(batch->elements, batch->element_size, i);
    with_heaps([&](Heaps& all) {
      all.name_region(named.region, nvtx_name(nullptr, named.message_type, named.message));
    });
  }
}

}  // namespace

void take_memory_extension(ExtensionSegment& segment) {
  if (heaps.load(std::memory_order_acquire) == nullptr) {
    auto* const made = new Heaps;
    Heaps* none = nullptr;
    if (!heaps.compare_exchange_strong(none, made, std::memory_order_acq_rel)) delete made;
  }
  const auto fill = [&](Slot slot, auto* function) {
    fill_slot(segment, slot, function, others[slot]);
  };
  fill(heap_register, register_heap);
  fill(heap_unregister, unregister_heap);
  fill(heap_reset, reset_heap);
  fill(regions_register, register_regions);
  fill(regions_resize, resize_regions);
  fill(regions_unregister, unregister_regions);
  fill(regions_name, name_regions);
}

std::optional<NamedMemory> named_memory() {
  Heaps* const known = heaps.load(std::memory_order_acquire);
  if (known == nullptr || !keeps_ranges()) return std::nullopt;
  NamedMemory memory = known->facts();
  if (memory.heaps.empty() && memory.left_out == 0) return std::nullopt;
  return memory;
}

}  // namespace vramscope
