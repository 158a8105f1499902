// Live books are what recovery and snapshots begin with: where the accounts are, and every segment
// in a record of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/books/accounts.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/direct_blocks.h"
#include "allocator/ground/kept_records.h"
#include "allocator/ground/live_memory.h"
#include "allocator/ground/mapped_array.h"
#include "allocator/ground/place.h"
#include "allocator/ground/snapshot.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// One segment, of any sort, as it stands in LivePart::listed_segments. It is there from the store
// to `what` that makes it visible to the one that ends that: all else is written before the first
// and after the last. Changes of a block that has a segment to itself are stores to `what`, too.
struct ListedSegment {
  enum class Sort : std::uint8_t { none, pool, reservation, pinned, alone, direct };
  static constexpr std::uint32_t kSorts = 7;
  static constexpr std::uint32_t kSmall = 8;  // of the small pool
  static constexpr std::uint32_t kExported = 16;
  static constexpr std::uint32_t kHidden = 32;  // the backend is being asked to take it back
  static constexpr unsigned kStateShift = 6;    // BlockState of the one block of `alone`

  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // of the one block of `alone`, and so are the next two
  std::uint64_t serial = 0;
  Tag tag = 0;
  BlockIndex first = kNoBlock;  // of its blocks; spare records are linked by it
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

  // Makes room for one more. False: out of memory.
  [[nodiscard]] bool prepare() noexcept {
    return spare_ != 0 || records_.grow_to(std::size_t{top_} + 2);
  }

  // After prepare(). One of pools, or of cut pinned memory; its blocks are written already.
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
  // What has changed of a dedicated block, or that the one block of a pool's segment became it.
  void note(const DedicatedBlock& block) noexcept {
    if (block.listed != 0) change(block.listed, record_of(block));
  }
  // While the backend is asked to take it back.
  void hide(Slot slot) noexcept {
    if (slot != 0) set(slot, records_[slot].what | ListedSegment::kHidden);
  }
  void show(Slot slot) noexcept {
    if (slot != 0) set(slot, records_[slot].what & ~ListedSegment::kHidden);
  }
  void remove(Slot slot) noexcept {
    if (slot != 0) leave(slot);
  }

  // All records as they were at one instant.
  struct Copy {
    KeptRecords<ListedSegment> records;
    Copy* next = nullptr;
  };
  // Records to copy, [0] included.
  [[nodiscard]] std::size_t extent() const { return top_ == 0 ? 0 : std::size_t{top_} + 1; }
  // There is room. Until remove_copy(), what changes is kept for it too; or nothing changes.
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
  // Of this version of everything that recovery reads: another one is refused.
  static const std::uint64_t kLayout;

  std::uint64_t layout;
  const Accounts* accounts;
};

// In the header of live memory, if there is some.
void publish_books(LiveMemory* live, const Accounts& accounts) noexcept;

}  // namespace vramscope
