// The memory of each place, and the table of places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/base/place.h"
#include "allocator/books/accounts.h"
#include "allocator/pending_frees.h"
#include "allocator/pool/expandable_blocks.h"
#include "allocator/pool/pool.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// A table of places of one sort. A place keeps its slot as long as it exists. Threads: one at a
// time.
template <class OfPlace>
class Places {
 public:
  // Finds a place; the one found last without a search. Returns nullptr if it does not exist.
  [[nodiscard]] OfPlace* find(Place where) noexcept {
    if (last_ != nullptr && last_->place == where) return last_;
    for (const auto& one : all_) {
      if (one && one->place == where) return last_ = one.get();
    }
    return nullptr;
  }
  [[nodiscard]] OfPlace* last() const { return last_; }
  // Returns the only place; nullptr if there are several or none.
  [[nodiscard]] OfPlace* sole() const { return sole_; }

  // Returns a slot for a place that is about to be added, or none if there are too many. May throw
  // bad_alloc.
  [[nodiscard]] std::optional<std::uint16_t> free_slot() {
    std::size_t slot = 0;
    while (slot < all_.size() && all_[slot]) ++slot;
    if (slot > std::numeric_limits<std::uint16_t>::max()) return {};
    if (slot == all_.size()) all_.emplace_back();
    return static_cast<std::uint16_t>(slot);
  }
  OfPlace* add(std::unique_ptr<OfPlace> place) noexcept {
    const std::uint16_t slot = place->slot;
    all_[slot] = std::move(place);
    find_sole();
    return all_[slot].get();
  }
  void remove(std::uint16_t slot) noexcept {
    if (last_ == all_[slot].get()) last_ = nullptr;
    all_[slot].reset();
    find_sole();
  }

  // By slot; an empty slot is null.
  [[nodiscard]] OfPlace* operator[](std::size_t slot) const { return all_[slot].get(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  void find_sole() noexcept {
    sole_ = nullptr;
    for (const auto& one : all_) {
      if (one && sole_ != nullptr) {
        sole_ = nullptr;
        return;
      }
      if (one) sole_ = one.get();
    }
  }

  std::vector<std::unique_ptr<OfPlace>> all_;
  OfPlace* last_ = nullptr;
  OfPlace* sole_ = nullptr;
};

// One place: its two pools and its pending frees.
struct PlaceMemory {
  PlaceMemory(Place where, std::uint16_t at, PlaceAccounts counted)
      : place(where), slot(at), accounts(counted), pools(at) {}
  // Makes room for this many free blocks. Returns false if memory is exhausted.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return pools.prepare(blocks) && (!expandable || expandable->prepare(blocks));
  }

  Place place;
  std::uint16_t slot;  // of Places
  PlaceAccounts accounts;
  Pools pools;
  std::unique_ptr<ExpandableBlocks> expandable;  // null before the first reservation
  std::uint64_t total_bytes = 0;                 // of the device
  PendingFrees pending;
  Waits waits;
};

// A context with host flags: its pools and its pending frees.
struct PinnedPlace {
  PinnedPlace(Place where, std::uint16_t at) : place(where), slot(at), pools(at) {}

  Place place;
  std::uint16_t slot;  // of Places
  Pools pools;
  PendingFrees pending;
  std::uint64_t small_bytes = 0;  // of segments of the small pool
};

}  // namespace vramscope
