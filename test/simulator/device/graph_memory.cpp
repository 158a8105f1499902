// Addresses, accounts and attributes of the memory of graphs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/graph_memory.h"

#include <algorithm>
#include <iterator>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kManyAddresses = std::uint64_t{1} << 40;

// Guards the two below; a GraphAllocation may end under it.
std::recursive_mutex registry_mutex;

std::map<Address, std::weak_ptr<GraphAllocation>>& registry() {
  static auto& all = *new std::map<Address, std::weak_ptr<GraphAllocation>>;
  return all;
}

// What launches left behind lives on without its graph.
std::map<Address, std::shared_ptr<GraphAllocation>>& left_behind() {
  static auto& all = *new std::map<Address, std::shared_ptr<GraphAllocation>>;
  return all;
}

GraphMemory& memory_of(int device) {
  return driver().devices[static_cast<std::size_t>(device)]->graphs;
}

}  // namespace

std::optional<Address> GraphMemory::take_address(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (shadow_.load() == nullptr) {
    // Nodes take addresses alone: those of several graphs may add up to more than the device has.
    const std::uint64_t several = std::max(capacity_, std::min(4 * capacity_, kManyAddresses));
    const std::uint64_t room = round_up(several, kGranule);
    auto made = std::make_unique<ShadowMemory>(addresses_for(room));
    if (!made->ok()) return std::nullopt;
    addresses_ = std::make_unique<Granules>(made->base(), room);
    shadow_ = made.release();
  }
  return addresses_->take(bytes);
}

void GraphMemory::give_address(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  addresses_->give(start, bytes);
  shadow_.load()->discard(start, bytes);
}

bool GraphMemory::contains(Address address) const {
  const ShadowMemory* shadow = shadow_;
  return shadow != nullptr && shadow->contains(address);
}

std::byte* GraphMemory::bytes_at(Address start, std::uint64_t bytes) {
  return shadow_.load()->bytes_at(start, bytes);
}

Status GraphMemory::map(std::uint64_t stream, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Region& region = regions_[stream];
  if (bytes <= region.bytes) return {};
  const std::uint64_t more = bytes - region.bytes;
  const Status counted = accounts_.count_call();
  if (!counted.ok()) return counted;
  if (accounts_.keep(more)) {
    used_ += more;
  } else if (!steal(stream, more)) {
    return {Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY};
  }
  regions_[stream].bytes = bytes;
  note_high();
  return {};
}

// From other streams that have nothing more to run.
bool GraphMemory::steal(std::uint64_t stream, std::uint64_t bytes) {
  const auto gives = [stream](const auto& each) {
    return each.first != stream && each.second.last.reached();
  };
  std::uint64_t idle = 0;
  for (const auto& each : regions_) idle += gives(each) ? each.second.bytes : 0;
  if (idle < bytes) return false;
  for (auto& each : regions_) {
    if (!gives(each)) continue;
    Region& region = each.second;
    const std::uint64_t taken = std::min(bytes, region.bytes);
    region.bytes -= taken;
    bytes -= taken;
  }
  return true;
}

void GraphMemory::note_high() {
  used_high_ = std::max(used_high_, used_);
  reserved_high_ = std::max(reserved_high_, used_);
}

void GraphMemory::launched(std::uint64_t stream, Point last) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(stream);
  if (found != regions_.end()) found->second.last = std::move(last);
}

void GraphMemory::leave(std::uint64_t stream, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  regions_[stream].bytes -= bytes;
  left_ += bytes;
}

void GraphMemory::take_back(std::uint64_t stream, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  regions_[stream].bytes += bytes;
  left_ -= bytes;
}

void GraphMemory::trim() {
  const std::lock_guard lock(mutex_);
  std::erase_if(regions_, [this](const auto& each) {
    const Region& region = each.second;
    if (!region.last.reached()) return false;
    accounts_.keep_less(region.bytes);
    used_ -= region.bytes;
    return true;
  });
}

std::optional<std::uint64_t> GraphMemory::attribute(CUgraphMem_attribute name) const {
  const std::lock_guard lock(mutex_);
  switch (name) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      return used_;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      return used_high_;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return used_;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return reserved_high_;
    default:
      return std::nullopt;
  }
}

bool GraphMemory::reset(CUgraphMem_attribute name) {
  const std::lock_guard lock(mutex_);
  if (name == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    used_high_ = used_;
  } else if (name == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    reserved_high_ = used_;
  } else {
    return false;
  }
  return true;
}

GraphAllocation::~GraphAllocation() {
  const std::lock_guard lock(registry_mutex);
  registry().erase(start);
  memory_of(device).give_address(start, bytes);
}

std::shared_ptr<GraphAllocation> make_graph_allocation(int device, std::uint64_t bytes) {
  const auto start = memory_of(device).take_address(bytes);
  if (!start) return nullptr;
  auto made = std::make_shared<GraphAllocation>(device, *start, bytes);
  const std::lock_guard lock(registry_mutex);
  registry()[*start] = made;
  return made;
}

std::shared_ptr<GraphAllocation> graph_allocation_at(Address start) {
  const std::lock_guard lock(registry_mutex);
  const auto found = registry().find(start);
  return found == registry().end() ? nullptr : found->second.lock();
}

bool is_graph_memory(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(registry_mutex);
  const auto after = registry().upper_bound(start);
  if (after == registry().begin()) return false;
  const auto allocation = std::prev(after)->second.lock();
  return allocation && start - allocation->start < allocation->bytes &&
         bytes <= allocation->bytes - (start - allocation->start);
}

void map_graph_allocation(const std::shared_ptr<GraphAllocation>& allocation,
                          std::uint64_t stream) {
  memory_of(allocation->device).leave(stream, allocation->taken_bytes());
  {
    const std::lock_guard lock(registry_mutex);
    allocation->mapped = true;
    allocation->stream = stream;
    left_behind()[allocation->start] = allocation;
  }
  driver().memory.add({.start = allocation->start,
                       .bytes = allocation->bytes,
                       .kind = Kind::stream_ordered,
                       .device = allocation->device});
}

void finish_free(const UnmappedAllocation& unmapped) {
  const GraphAllocation& allocation = *unmapped.allocation;
  memory_of(allocation.device).take_back(unmapped.stream, allocation.taken_bytes());
}

std::optional<UnmappedAllocation> unmap_graph_allocation(Address start) {
  const std::lock_guard lock(registry_mutex);
  auto taken = left_behind().extract(start);
  if (taken.empty()) return std::nullopt;
  taken.mapped()->mapped = false;
  const std::uint64_t stream = taken.mapped()->stream;
  return UnmappedAllocation{.allocation = std::move(taken.mapped()), .stream = stream};
}

namespace body {

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute name, void* value) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = device->graphs.attribute(name);
  if (!found || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = *found;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute name, void* value) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr || *static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  return device->graphs.reset(name) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  device->graphs.trim();
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
