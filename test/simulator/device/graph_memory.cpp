// Addresses, accounts and attributes of the memory of graphs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/graph_memory.h"

#include <algorithm>
#include <iterator>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kManyAddresses = std::uint64_t{1} << 40;

// Guards the two below and the counts of every GraphAllocation, which may end under it.
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

Status add_user_locked(GraphAllocation& allocation) {
  if (allocation.users != 0) return ++allocation.users, Status{};
  const Status status = memory_of(allocation.device).use(allocation.bytes);
  if (status.ok()) ++allocation.users;
  return status;
}

void remove_user_locked(GraphAllocation& allocation) {
  if (--allocation.users == 0) memory_of(allocation.device).end_use(allocation.bytes);
}

}  // namespace

std::optional<Address> GraphMemory::take_address(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (shadow_.load() == nullptr) {
    // Nodes take addresses alone: those of several graphs may add up to more than the device has.
    const std::uint64_t several = std::max(capacity_, std::min(4 * capacity_, kManyAddresses));
    const std::uint64_t room = round_up(several, kGranule);
    auto made = std::make_unique<ShadowMemory>(2 * room);  // Granules: two addresses for each byte
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

Status GraphMemory::use(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t needed = round_up(used_ + round_up(bytes, kSmallAlignment), kGranule);
  if (needed > reserved_) {
    const Grant grant = accounts_.allocate(Memory::device, needed - reserved_);
    if (!grant.status.ok()) return grant.status;
    chunks_.push_back({grant.address, needed - reserved_});
    reserved_ = needed;
  }
  used_ += round_up(bytes, kSmallAlignment);
  used_high_ = std::max(used_high_, used_);
  reserved_high_ = std::max(reserved_high_, reserved_);
  return {};
}

void GraphMemory::end_use(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= round_up(bytes, kSmallAlignment);
}

void GraphMemory::trim() {
  const std::lock_guard lock(mutex_);
  std::erase_if(chunks_, [this](const Chunk& chunk) {
    if (reserved_ - used_ < chunk.bytes) return false;
    if (!accounts_.release(chunk.start).ok()) return false;
    reserved_ -= chunk.bytes;
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
      return reserved_;
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
    reserved_high_ = reserved_;
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

Status add_user(GraphAllocation& allocation) {
  const std::lock_guard lock(registry_mutex);
  return add_user_locked(allocation);
}

void remove_user(GraphAllocation& allocation) {
  const std::lock_guard lock(registry_mutex);
  remove_user_locked(allocation);
}

Status map_graph_allocation(const std::shared_ptr<GraphAllocation>& allocation) {
  {
    const std::lock_guard lock(registry_mutex);
    if (const Status status = add_user_locked(*allocation); !status.ok()) return status;
    allocation->mapped = true;
    left_behind()[allocation->start] = allocation;
  }
  driver().memory.add({.start = allocation->start,
                       .bytes = allocation->bytes,
                       .kind = Kind::stream_ordered,
                       .device = allocation->device});
  return {};
}

std::shared_ptr<GraphAllocation> unmap_graph_allocation(Address start) {
  const std::lock_guard lock(registry_mutex);
  auto taken = left_behind().extract(start);
  if (taken.empty()) return nullptr;
  taken.mapped()->mapped = false;
  return std::move(taken.mapped());
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
  for (const auto& executable : executable_graphs().all())
    release_idle_memory(*executable, ordinal);
  device->graphs.trim();
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
