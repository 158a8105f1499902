// Reservations are windows; a mapping is a piece of a file in one of them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/virtual_memory.h"

#include <iterator>
#include <utility>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

CUresult VirtualMemory::reserve(std::uint64_t bytes, std::uint64_t alignment, Address hint,
                                Address* start) {
  auto window = std::make_shared<Window>(bytes, alignment, hint);
  if (!window->ok()) return CUDA_ERROR_OUT_OF_MEMORY;
  *start = window->base();
  windows().add(window);
  const std::lock_guard lock(mutex_);
  reservations_.emplace(*start, std::move(window));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::free(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(start);
  if (found == reservations_.end() || found->second->bytes() != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (touches_mapping(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
  windows().remove(start);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

VirtualMemory::Handle VirtualMemory::add(std::shared_ptr<PhysicalMemory> memory) {
  const std::lock_guard lock(mutex_);
  const Handle handle = next_handle_++;
  handles_[handle] = std::make_shared<Named>(Named{handle, 1, std::move(memory)});
  return handle;
}

std::shared_ptr<PhysicalMemory> VirtualMemory::find(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : found->second->memory;
}

CUresult VirtualMemory::release(Handle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second->references == 0) handles_.erase(found);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::retain(Address inside, Handle* handle) {
  const std::lock_guard lock(mutex_);
  const auto mapping = mapping_of(inside);
  if (mapping == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto& named = mapping->second.named;
  ++named->references;
  handles_[named->handle] = named;
  *handle = named->handle;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::map(Address start, std::uint64_t bytes, Handle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  const PhysicalMemory& memory = *found->second->memory;
  if (bytes > memory.bytes()) return CUDA_ERROR_INVALID_VALUE;
  const auto window = reservation_of(start, bytes);
  if (!window || touches_mapping(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const FilePlace& place = memory.place();
  if (inode_of(place.file) != place.inode || !window->map(start, bytes, place.file, place.offset)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  driver().memory.add({.start = start,
                       .bytes = bytes,
                       .kind = Kind::device,
                       .origin = Origin::mapped,
                       .device = memory.properties().location.id});
  mappings_.emplace(start, Mapping{bytes, found->second, {}});
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::unmap(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_whole_locked(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
  auto mapping = mappings_.find(start);
  while (mapping != mappings_.end() && mapping->first < start + bytes) {
    (void)driver().memory.take(mapping->first,
                               [](const Allocation& a) { return a.origin == Origin::mapped; });
    const auto window = reservation_of(mapping->first, mapping->second.bytes);
    window->unmap(mapping->first, mapping->second.bytes);
    mapping = mappings_.erase(mapping);
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(Address start, std::uint64_t bytes, int device, unsigned flags) {
  const std::lock_guard lock(mutex_);
  if (!is_whole_locked(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (auto mapping = mappings_.find(start);
       mapping != mappings_.end() && mapping->first < start + bytes; ++mapping) {
    mapping->second.access[device] = flags;
  }
  return CUDA_SUCCESS;
}

bool VirtualMemory::allows(Address start, std::uint64_t bytes, int device, unsigned flags) const {
  const std::lock_guard lock(mutex_);
  if (!reservation_of(start, bytes)) return false;
  Address at = start;
  for (auto mapping = mapping_of(start); at < start + bytes; ++mapping) {
    if (mapping == mappings_.end() || mapping->first > at) return false;
    const auto access = mapping->second.access.find(device);
    if (access == mapping->second.access.end() || (access->second & flags) != flags) return false;
    at = mapping->first + mapping->second.bytes;
  }
  return true;
}

bool VirtualMemory::is_whole(Address start, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return is_whole_locked(start, bytes);
}

std::optional<Reserved> VirtualMemory::describe(Address inside, int device) const {
  const std::lock_guard lock(mutex_);
  const auto window = reservation_of(inside, 1);
  if (!window) return std::nullopt;
  Reserved reserved{.start = window->base(), .bytes = window->bytes(), .memory = {}};
  const auto mapping = mapping_of(inside);
  if (mapping == mappings_.end()) return reserved;
  reserved.memory = mapping->second.named->memory;
  const auto access = mapping->second.access.find(device);
  reserved.access = access == mapping->second.access.end() ? 0 : access->second;
  return reserved;
}

// The reservation that holds the whole range.
std::shared_ptr<Window> VirtualMemory::reservation_of(Address inside, std::uint64_t bytes) const {
  const auto after = reservations_.upper_bound(inside);
  if (after == reservations_.begin()) return nullptr;
  const auto& window = std::prev(after)->second;
  const std::uint64_t left = window->base() + window->bytes() - inside;
  return window->contains(inside) && bytes <= left ? window : nullptr;
}

VirtualMemory::Mappings::const_iterator VirtualMemory::mapping_of(Address inside) const {
  const auto after = mappings_.upper_bound(inside);
  if (after == mappings_.begin()) return mappings_.end();
  const auto candidate = std::prev(after);
  return inside < candidate->first + candidate->second.bytes ? candidate : mappings_.end();
}

bool VirtualMemory::touches_mapping(Address start, std::uint64_t bytes) const {
  const auto next = mappings_.lower_bound(start);
  if (next != mappings_.end() && next->first < start + bytes) return true;
  return mapping_of(start) != mappings_.end();
}

bool VirtualMemory::is_whole_locked(Address start, std::uint64_t bytes) const {
  if (bytes == 0 || !reservation_of(start, bytes)) return false;
  Address at = start;
  for (auto mapping = mappings_.find(start); at < start + bytes; ++mapping) {
    if (mapping == mappings_.end() || mapping->first != at) return false;
    at += mapping->second.bytes;
  }
  return at == start + bytes;
}

VirtualMemory& virtual_memory() {
  static auto& all = *new VirtualMemory;
  return all;
}

}  // namespace vramscope::simulator
