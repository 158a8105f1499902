// VirtualMemory tracks memory that the program creates by handle, with its references and mappings.
// It lives until the last of both ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/base/place.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Threads: any. It does not call the driver. end(kind, address) is called for each piece of memory
// that ended, with the lock held: it may call the allocator, but not this class.
// If our memory is exhausted, functions return `none` or false, and the caller counts that.
class VirtualMemory {
 public:
  using Handle = CUmemGenericAllocationHandle;
  // The unique number of an object or mapping, in order of creation. It is also the object's
  // address in the ledger.
  using Number = std::uint64_t;
  static constexpr Number none = 0;

  // A part of a sparse array: the tiles of one level and layer in [from, to), or the bytes of a mip
  // tail as x. An array that is mapped as a whole is one tile.
  struct Tiles {
    std::uintptr_t array = 0;
    unsigned type = 0, level = 0, layer = 0;
    std::array<std::uint64_t, 3> from{}, to{};
  };

  struct Mapped {
    bool known = false;
    Place where;  // of kind mapping, or imported if the memory belongs to others
  };

  // Returns the newest number. Take it before a driver call that ends something, so that memory
  // that other threads get meanwhile under the same handle or address stays.
  [[nodiscard]] Number now() const noexcept;

  // Notes that the driver gave out `handle`, with one reference, for memory at `where`.
  template <class End>
  [[nodiscard]] Number created(Handle handle, Place where, End end) noexcept {
    const SystemLock lock(mutex_);
    lose_handle(handle, newest_, end);
    return add(handle, where);
  }
  // Notes that the memory of the handle was exported, so that others may hold it.
  void exported(Handle handle) noexcept;
  // Whether a release of `handle`, or an unmapping of the range, may end exported memory, and its
  // device. 0 bytes are no range.
  struct Exported {
    bool any = false;
    std::uint16_t device = 0;
  };
  [[nodiscard]] Exported exported_of(Handle handle) const noexcept;
  [[nodiscard]] Exported exported_in(Address address, std::size_t bytes) const noexcept;
  // Counts one more reference. Ignores an unknown handle.
  void retained(Handle handle) noexcept;
  template <class End>
  void released(Handle handle, Number before, End end) noexcept {
    const SystemLock lock(mutex_);
    const auto it = handles_.find(handle);
    if (it == handles_.end() || it->second > before) return;
    Object& object = objects_.at(it->second);
    if (--object.references > 0) return;
    const Number number = it->second;
    if (object.uses == 0) handles_.erase(it);  // a used object keeps its handle
    end_unused(number, end);
  }

  template <class End>
  [[nodiscard]] Mapped mapped(Address address, std::size_t bytes, Handle handle, End end) noexcept {
    const SystemLock lock(mutex_);
    unmap(address, bytes, newest_, end);
    return add_mapping(address, bytes, handle);
  }
  // Ends every mapping in the range.
  template <class End>
  void unmapped(Address address, std::size_t bytes, Number before, End end) noexcept {
    const SystemLock lock(mutex_);
    unmap(address, bytes, before, end);
  }

  // Notes that an array uses memory in its tiles, instead of what was mapped there before.
  template <class End>
  void tiles_mapped(const Tiles& tiles, Handle handle, End end) noexcept {
    const SystemLock lock(mutex_);
    empty_tiles(tiles, end);
    add_tile(tiles, handle);
  }
  template <class End>
  void tiles_unmapped(const Tiles& tiles, End end) noexcept {
    const SystemLock lock(mutex_);
    empty_tiles(tiles, end);
  }
  template <class End>
  void array_ended(std::uintptr_t array, End end) noexcept {
    const SystemLock lock(mutex_);
    auto it = tiles_.lower_bound({.array = array});
    while (it != tiles_.end() && it->first.array == array) it = empty_tile(it, end);
  }

  // Notes that a multicast object uses memory, at an offset for each device.
  void bound(Handle multicast, std::size_t offset, Handle memory) noexcept;
  template <class End>
  void unbound(Handle multicast, std::uint16_t device, std::size_t offset, End end) noexcept {
    const SystemLock lock(mutex_);
    const auto it = handles_.find(multicast);
    if (it == handles_.end()) return;
    std::vector<Binding>& bindings = objects_.at(it->second).bindings;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      if (bindings[i].device != device || bindings[i].offset != offset) continue;
      const Number memory = bindings[i].memory;
      bindings.erase(bindings.begin() + static_cast<std::ptrdiff_t>(i));
      unuse(memory, end);
      return;
    }
  }

 private:
  // The key of tiles: where they begin.
  struct Tile {
    std::uintptr_t array = 0;
    unsigned type = 0, level = 0, layer = 0;
    std::array<std::uint64_t, 3> origin{};
    friend auto operator<=>(const Tile&, const Tile&) = default;
  };
  struct Binding {
    std::uint16_t device = 0;
    std::size_t offset = 0;
    Number memory = none;
  };
  struct Object {
    Handle handle{};
    Place where;
    std::uint64_t references = 1;
    std::uint64_t uses = 0;  // mappings, tiles and bindings
    bool is_exported = false;
    std::vector<Binding> bindings;
  };
  struct Mapping {
    std::size_t bytes = 0;
    Number number = none;
    Number object = none;
    Kind kind = Kind::mapping;
  };

  [[nodiscard]] Number add(Handle handle, Place where) noexcept VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Mapped add_mapping(Address address, std::size_t bytes, Handle handle) noexcept
      VRAMSCOPE_REQUIRES(mutex_);

  void add_tile(const Tiles& tiles, Handle handle) noexcept VRAMSCOPE_REQUIRES(mutex_);
  template <class End>
  std::map<Tile, Number>::iterator empty_tile(std::map<Tile, Number>::iterator it, End end) noexcept
      VRAMSCOPE_REQUIRES(mutex_) {
    const Number number = it->second;
    it = tiles_.erase(it);
    unuse(number, end);
    return it;
  }
  template <class End>
  void empty_tiles(const Tiles& tiles, End end) noexcept VRAMSCOPE_REQUIRES(mutex_) {
    const Tile first{tiles.array, tiles.type, tiles.level, tiles.layer, {}};
    auto it = tiles_.lower_bound(first);
    while (it != tiles_.end()) {
      Tile level = it->first;
      level.origin = {};
      if (level != first) return;
      bool inside = true;
      for (std::size_t axis = 0; axis < tiles.from.size(); ++axis) {
        const std::uint64_t at = it->first.origin[axis];
        inside = inside && at >= tiles.from[axis] && at < tiles.to[axis];
      }
      it = inside ? empty_tile(it, end) : std::next(it);
    }
  }

  // Ends an old object with this handle: the driver reuses a handle only when nobody holds the old
  // one.
  template <class End>
  void lose_handle(Handle handle, Number before, End end) noexcept VRAMSCOPE_REQUIRES(mutex_) {
    const auto it = handles_.find(handle);
    if (it == handles_.end() || it->second > before) return;
    const Number number = it->second;
    handles_.erase(it);
    objects_.at(number).references = 0;
    end_unused(number, end);
  }
  template <class End>
  void unuse(Number number, End end) noexcept VRAMSCOPE_REQUIRES(mutex_) {
    --objects_.at(number).uses;
    end_unused(number, end);
  }
  template <class End>
  void end_unused(Number number, End end) noexcept VRAMSCOPE_REQUIRES(mutex_) {
    const auto it = objects_.find(number);
    if (it->second.references != 0 || it->second.uses != 0) return;
    const std::vector<Binding> bindings = std::move(it->second.bindings);
    const auto named = handles_.find(it->second.handle);
    if (named != handles_.end() && named->second == number) handles_.erase(named);
    end(it->second.where.kind, number);
    objects_.erase(it);
    for (const Binding& binding : bindings) unuse(binding.memory, end);
  }
  template <class End>
  void unmap(Address address, std::size_t bytes, Number before, End end) noexcept
      VRAMSCOPE_REQUIRES(mutex_) {
    auto it = mappings_.lower_bound(address);
    while (it != mappings_.end() && it->first - address < bytes) {
      const auto here = it++;
      if (here->second.number > before || here->second.bytes > bytes - (here->first - address)) {
        continue;
      }
      const Mapping gone = here->second;
      end(gone.kind, here->first);
      mappings_.erase(here);
      unuse(gone.object, end);
    }
  }

  mutable SystemMutex mutex_;
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = none;
  bool any_exported_ VRAMSCOPE_GUARDED_BY(mutex_) = false;
  std::map<Number, Object> objects_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<Handle, Number> handles_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<Tile, Number> tiles_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<Address, Mapping> mappings_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
