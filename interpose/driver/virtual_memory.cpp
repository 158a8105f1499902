// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/virtual_memory.h"

#include <new>

namespace vramscope {

VirtualMemory::Number VirtualMemory::now() const noexcept {
  const SystemLock lock(mutex_);
  return newest_;
}

VirtualMemory::Number VirtualMemory::add(Handle handle, Place where) noexcept {
  const Number number = ++newest_;
  try {
    Object object;
    object.handle = handle;
    object.where = where;
    objects_.emplace(number, std::move(object));
    handles_[handle] = number;
  } catch (const std::bad_alloc&) {
    objects_.erase(number);
    return none;
  }
  return number;
}

void VirtualMemory::retained(Handle handle) noexcept {
  const SystemLock lock(mutex_);
  const auto it = handles_.find(handle);
  if (it != handles_.end()) ++objects_.at(it->second).references;
}

void VirtualMemory::exported(Handle handle) noexcept {
  const SystemLock lock(mutex_);
  const auto it = handles_.find(handle);
  if (it == handles_.end()) return;
  Object& object = objects_.at(it->second);
  object.is_exported = object.where.kind == Kind::physical;
  any_exported_ = any_exported_ || object.is_exported;
}

VirtualMemory::Exported VirtualMemory::exported_of(Handle handle) const noexcept {
  const SystemLock lock(mutex_);
  const auto it = handles_.find(handle);
  if (!any_exported_ || it == handles_.end()) return {};
  const Object& object = objects_.at(it->second);
  return {object.is_exported, object.where.device};
}

VirtualMemory::Exported VirtualMemory::exported_in(Address address,
                                                   std::size_t bytes) const noexcept {
  const SystemLock lock(mutex_);
  if (!any_exported_) return {};
  auto it = mappings_.lower_bound(address);
  for (; it != mappings_.end() && it->first - address < bytes; ++it) {
    const Object& object = objects_.at(it->second.object);
    if (object.is_exported) return {true, object.where.device};
  }
  return {};
}

VirtualMemory::Mapped VirtualMemory::add_mapping(Address address, std::size_t bytes,
                                                 Handle handle) noexcept {
  const auto it = handles_.find(handle);
  if (it == handles_.end()) return {};
  Object& object = objects_.at(it->second);
  Place where = object.where;
  if (where.kind != Kind::imported) where.kind = Kind::mapping;
  try {
    mappings_[address] = {bytes, ++newest_, it->second, where.kind};
  } catch (const std::bad_alloc&) {
    return {};
  }
  ++object.uses;
  return {true, where};
}

void VirtualMemory::add_tile(const Tiles& tiles, Handle handle) noexcept {
  const auto it = handles_.find(handle);
  if (it == handles_.end()) return;
  const Tile tile{tiles.array, tiles.type, tiles.level, tiles.layer, tiles.from};
  try {
    if (tiles_.emplace(tile, it->second).second) ++objects_.at(it->second).uses;
  } catch (const std::bad_alloc&) {
    // Without memory: its end is noted with its last reference.
  }
}

void VirtualMemory::bound(Handle multicast, std::size_t offset, Handle memory) noexcept {
  const SystemLock lock(mutex_);
  const auto object = handles_.find(multicast);
  const auto used = handles_.find(memory);
  if (object == handles_.end() || used == handles_.end()) return;
  Object& user = objects_.at(used->second);
  try {
    objects_.at(object->second).bindings.push_back({user.where.device, offset, used->second});
  } catch (const std::bad_alloc&) {
    return;  // no memory: its end is noted with its last reference
  }
  ++user.uses;
}

}  // namespace vramscope
