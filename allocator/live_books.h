// Live books are the roots of recovery and snapshots: a pointer to the accounts, and a record of
// every segment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/kept_records.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/mapped_array.h"
#include "allocator/base/place.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/accounts.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/direct_blocks.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// The record of one segment of any sort, in LivePart::listed_segments. It is visible from the store
// to `what` that makes it so until the store that ends that; all other fields are written before
// the first or after the last. A dedicated block also changes its state by a store to `what`.
struct ListedSegment {
  enum class Sort : std::uint8_t { none, pool, reservation, pinned, alone, direct };
  static constexpr std::uint32_t kSorts = 7;
  static constexpr std::uint32_t kSmall = 8;  // of the small pool
  static constexpr std::uint32_t kExported = 16;
  static constexpr std::uint32_t kHidden = 32;  // being given back to the backend
  static constexpr unsigned kStateShift = 6;    // BlockState of the one block of `alone`

  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // of the one block of `alone`, like the next two
  std::uint64_t serial = 0;
  Tag tag = 0;
  BlockIndex first = kNoBlock;  // the first block; links spare records
  std::uint32_t what = 0;       // Sort, flags and state
  std::uint32_t unused = 0;

  [[nodiscard]] Sort sort() const { return static_cast<Sort>(what & kSorts); }
  [[nodiscard]] bool is_visible() const { return sort() != Sort::none && (what & kHidden) == 0; }
  [[nodiscard]] bool is_small() const { return (what & kSmall) != 0; }
  [[nodiscard]] bool is_exported() const { return (what & kExported) != 0; }
  [[nodiscard]] BlockState state() const { return static_cast<BlockState>(what >> kStateShift); }
};
static_assert(sizeof(ListedSegment) == 56);

// The records, by slot; 0: none. Threads: one at a time.
class ListedSegments {
 public:
  using Slot = std::uint32_t;
  explicit ListedSegments(LiveMemory* live) : records_({live, LivePart::listed_segments}) {}

  // Makes room for one more record. Returns false if memory is exhausted.
  [[nodiscard]] bool prepare() noexcept {
    return spare_ != 0 || records_.grow_to(std::size_t{top_} + 2);
  }

  // Adds a segment of pools or of cut pinned memory, after prepare(). Its blocks must be written
  // before.
  [[nodiscard]] Slot add(ListedSegment::Sort sort, Place place, Address address,
                         std::uint64_t bytes, PoolClass pool, BlockIndex first) noexcept {
    return enter({.place = place,
                  .address = address,
                  .bytes = bytes,
                  .first = first,
                  .what = what_of(sort, pool)});
  }
  [[nodiscard]] Slot add(const DedicatedBlock& block) noexcept { return enter(record_of(block)); }
  [[nodiscard]] Slot add(Address address, const DirectBlock& block) noexcept;
  // Notes the changes of a dedicated block, or that the only block of a pool's segment became
  // dedicated.
  void note(const DedicatedBlock& block) noexcept {
    if (block.listed != 0) change(block.listed, record_of(block));
  }
  // Hide a segment while it is being given back, and show it if it stays.
  void hide(Slot slot) noexcept {
    if (slot != 0) set(slot, records_[slot].what | ListedSegment::kHidden);
  }
  void show(Slot slot) noexcept {
    if (slot != 0) set(slot, records_[slot].what & ~ListedSegment::kHidden);
  }
  void remove(Slot slot) noexcept {
    if (slot != 0) leave(slot);
  }

  // A copy of all records as they were at one instant.
  struct Copy {
    KeptRecords<ListedSegment> records;
    Copy* next = nullptr;
  };
  // Returns the number of records to copy, including [0].
  [[nodiscard]] std::size_t extent() const { return top_ == 0 ? 0 : std::size_t{top_} + 1; }
  // Begins a copy, for which there is room. Between add_copy() and remove_copy() changed records
  // are kept for it first. Without them nothing may change.
  void begin_copy(Copy& copy) const noexcept { copy.records.begin(records_, extent()); }
  void add_copy(Copy& copy) noexcept { copies_.add(copy); }
  void remove_copy(const Copy& copy) noexcept { copies_.remove(copy); }

 private:
  [[nodiscard]] static std::uint32_t what_of(ListedSegment::Sort sort, PoolClass pool) {
    return static_cast<std::uint32_t>(sort) |
           (pool == PoolClass::small ? ListedSegment::kSmall : 0U);
  }
  [[nodiscard]] static ListedSegment record_of(const DedicatedBlock& block);
  [[gnu::noinline]] Slot enter(const ListedSegment& segment) noexcept;
  [[gnu::noinline]] void change(Slot slot, const ListedSegment& segment) noexcept;
  [[gnu::noinline]] void leave(Slot slot) noexcept;
  void set(Slot slot, std::uint32_t what) noexcept;
  void keep(Slot slot) noexcept;

  MappedArray<ListedSegment> records_;  // [0] stays empty
  Slot top_ = 0;                        // highest ever used
  Slot spare_ = 0;                      // linked by `first`
  Copies<Copy> copies_;
};

// What LiveHeader::allocator points to.
struct LiveBooks {
  // The layout number of everything that recovery reads. Recovery refuses any other.
  static const std::uint64_t kLayout;

  std::uint64_t layout;
  const Accounts* accounts;
};

// Sets LiveHeader::allocator if there is live memory.
void publish_books(LiveMemory* live, const Accounts& accounts) noexcept;

}  // namespace vramscope
