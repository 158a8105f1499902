// The block table holds a record of every block of every pool, and finds live ones by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocator/base/kept_records.h"
#include "allocator/base/mapped_array.h"
#include "allocator/base/place.h"
#include "allocator/base/publish.h"
#include "allocator/base/size_policy.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/accounts.h"
#include "allocator/pool/waits.h"

namespace vramscope {

using BlockIndex = std::uint32_t;  // 0: none
using Units = std::uint32_t;       // sizes of blocks in units of kUnit bytes: below 2 TiB

inline constexpr BlockIndex kNoBlock = 0;
// A multiple of kGranularity, so that the size class of a block up to this is also up to this.
inline constexpr std::uint64_t kMaxBlockBytes = (std::uint64_t{1} << 32) * kUnit - kGranularity;

[[nodiscard]] constexpr std::uint64_t to_bytes(Units units) { return units * kUnit; }
[[nodiscard]] constexpr Units to_units(std::uint64_t bytes) {
  return static_cast<Units>(bytes / kUnit);
}

// A part of a segment: the fields that every step reads. Record 0 is "no block" and has zero bytes.
// It counts as live, so that nobody merges with it, and it takes the writes to a neighbour that
// does not exist.
struct Block {
  // The address is a multiple of kUnit. Its low bits hold the state and flags.
  static constexpr std::uint64_t kStates = 3;
  static constexpr std::uint64_t kSmall = 4;   // of the small pool
  static constexpr std::uint64_t kMapped = 8;  // found by its address
  // For reservations (see ExpandableBlocks): part of a reservation; addresses without memory; held
  // by a step that unlocks. Blocks with the last two flags are in state 1, so that nobody finds
  // them or merges with them.
  static constexpr std::uint64_t kExpandable = 16;
  static constexpr std::uint64_t kUnbacked = 32;
  static constexpr std::uint64_t kHeld = 64;
  static constexpr std::uint64_t kFlags = kUnit - 1;

  std::uint64_t where;      // address | flags
  std::uint64_t requested;  // bytes; a free block keeps those of its last allocation
  Units size;
  BlockIndex prev, next;  // neighbours in the segment
  Tag tag;                // while live; if free: searches of its pool when it became free

  [[nodiscard]] Address address() const { return where & ~kFlags; }
  [[nodiscard]] BlockState state() const { return static_cast<BlockState>(where & kStates); }
  void set_state(BlockState s) { set_where((where & ~kStates) | static_cast<std::uint64_t>(s)); }
  // Sets the owner before the block becomes live. After that and the number, one store makes it
  // live, as for all changes of state (see BlockTable).
  void belong_to(Tag owner, std::uint64_t bytes) {
    publish(tag, owner);
    publish(requested, bytes);
  }
  void set_where(std::uint64_t changed) { publish(where, changed); }
  void follow_by(BlockIndex block) { publish(next, block); }
  // Holds a free or unbacked block of a reservation for a step that unlocks, in one store.
  void hold() { set_where((where & ~kStates) | kHeld | 1); }
  [[nodiscard]] PoolClass pool() const {
    return where & kSmall ? PoolClass::small : PoolClass::large;
  }
  [[nodiscard]] bool is_mapped() const { return where & kMapped; }
  [[nodiscard]] bool is_free() const { return where & kFree; }
  [[nodiscard]] bool is_live() const { return (where & kStates) == 0; }
  [[nodiscard]] bool is_expandable() const { return where & kExpandable; }
  [[nodiscard]] bool is_unbacked() const { return where & kUnbacked; }
  [[nodiscard]] bool is_aside() const { return where & (kUnbacked | kHeld); }  // nobody's
  [[nodiscard]] bool is_part() const { return (prev | next) != 0; }            // of a split segment
  [[nodiscard]] CountedBlock counted() const { return {tag, pool(), to_bytes(size), requested}; }

  static constexpr std::uint64_t kFree = static_cast<std::uint64_t>(BlockState::inactive);
};
static_assert(sizeof(Block) == 32);
static_assert(BlockState{} == BlockState::active_allocated);
static_assert(Block::kFree == 2 && static_cast<int>(BlockState::active_pending_free) == 1);

// The other fields of a block, stored separately so that more records share a cache line.
struct BlockLife {
  std::uint64_t number = 0;  // of the allocation; if pending: of the free, above the next block
  Waits::Number freed = 0;   // the newest wait that had begun when it was freed
  std::uint16_t place = 0;   // slot of the place it belongs to

  [[nodiscard]] std::uint64_t serial() const { return number; }
  void set_serial(std::uint64_t serial) { publish(number, serial); }
  [[nodiscard]] BlockIndex next() const { return static_cast<BlockIndex>(number); }
  [[nodiscard]] std::uint32_t pending() const { return static_cast<std::uint32_t>(number >> 32); }
  void set_pending(std::uint32_t free, BlockIndex block) {
    publish(number, std::uint64_t{free} << 32 | block);
  }
};
static_assert(sizeof(BlockLife) == 16);

// In live memory the table is read after a kill during any operation. By these rules it then shows
// each operation as done or not begun:
// - The blocks of a segment are the chain from its first record by `next`; a block ends at the
//   next one's address. The reader ignores `size`, `prev` and everything else.
// - A record is written whole before a store to `next` links it. That store splits a block in two
//   of one state. Neighbours that are both free count as one.
// - One store to `next` of the previous record unlinks a record, and the previous block grows by
//   its range. Both must have the same state by then. The unlinked record is written to only after
//   that.
// - The fields that belong to a state (tag, requested, serial) are written before the store to
//   `where` that changes the state; that one store changes all flags.
// - Totals change before the store that makes a block live, and before the one that makes it
//   free.
// These stores, and the stores that must precede them, use publish().
// Threads: one at a time.
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(LivePages blocks, LivePages lives) : blocks_(blocks), lives_(lives) {
    if (blocks.is_live()) most_more_ = kMostLiveBlocks;
  }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Makes room for two more records and one more address. Returns false if memory is exhausted.
  // Moves records.
  [[nodiscard]] bool prepare() noexcept {
    if (is_prepared()) [[likely]]
      return true;
    return grow();
  }
  [[nodiscard]] bool is_prepared() const { return count_ < most_blocks_ && used_ < most_used_; }

  // The number of records for which there is room, now and after the next growth.
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t next_size() const {
    if (count_ < most_blocks_) return size();
    return size() == 0 ? kFirstBlocks : size() + std::min(size(), most_more_);
  }

  [[nodiscard]] Block& operator[](BlockIndex i) { return blocks_[i]; }
  [[nodiscard]] const Block& operator[](BlockIndex i) const { return blocks_[i]; }
  [[nodiscard]] BlockLife& life(BlockIndex i) { return lives_[i]; }
  [[nodiscard]] const BlockLife& life(BlockIndex i) const { return lives_[i]; }

  // Prefetches a record that will be read soon.
  void expect(BlockIndex i) const { __builtin_prefetch(&blocks_[i]); }

  // Returns a record with undefined content, after prepare().
  [[nodiscard]] BlockIndex create() noexcept {
    ++count_;
    if (spare_ == kNoBlock) return ++top_;
    const BlockIndex i = spare_;
    spare_ = blocks_[i].next;
    expect(spare_);
    return i;
  }
  void destroy(BlockIndex i) noexcept {
    --count_;
    blocks_[i].set_where(Block::kFree);  // a reader that still has the index sees no live block
    blocks_[i].follow_by(spare_);
    spare_ = i;
  }

  // A copy of all records as they were at one instant. Writers must call keep() before they write
  // the relevant fields of a record (see above), unless it is new. The fast path does not, and is
  // disabled while there are copies.
  struct Copy {
    KeptRecords<Block> blocks;
    KeptRecords<BlockLife> lives;
    Copy* next = nullptr;
  };
  // The number of records to copy.
  [[nodiscard]] std::size_t extent() const { return std::size_t{top_} + 1; }
  // Begins a copy, for which there is room. Between add_copy() and remove_copy() changed records
  // are kept for it first. Without them nothing may change.
  void begin_copy(Copy& copy) const noexcept {
    const std::size_t count = std::min(extent(), lives_.size());
    copy.blocks.begin(blocks_, count);
    copy.lives.begin(lives_, count);
  }
  void add_copy(Copy& copy) noexcept { copies_.add(copy); }
  void remove_copy(const Copy& copy) noexcept { copies_.remove(copy); }
  [[nodiscard]] bool has_copies() const { return !copies_.empty(); }
  void keep(BlockIndex i) noexcept {
    if (has_copies()) [[unlikely]]
      keep_in_copies(i);
  }
  // Keeps a block that may merge, and its neighbours.
  void keep_around(BlockIndex i) noexcept {
    if (!has_copies()) [[likely]]
      return;
    keep_in_copies(i);
    keep_in_copies(blocks_[i].prev);
    keep_in_copies(blocks_[i].next);
  }

  // The map from addresses to blocks. Call insert() after prepare().
  void insert(BlockIndex i) noexcept;
  void erase(BlockIndex i) noexcept;                              // must be inserted
  [[nodiscard]] BlockIndex find(Address address) const noexcept;  // exact; kNoBlock: none

  // find() and erase() with one search. An entry is valid until the next insert or erase.
  struct Entry {
    BlockIndex block = kNoBlock;
    bool outgrown = false;  // in the old map
    std::size_t at = 0;
  };
  [[nodiscard]] Entry find_entry(Address address) const noexcept;
  void erase(Entry entry) noexcept;

  [[nodiscard]] std::size_t block_count() const { return count_; }
  [[nodiscard]] std::size_t address_count() const { return used_; }

 private:
  // Open addressing, linear probing. An entry is a block, its key the block's address. An outgrown
  // map is emptied a few entries at a time, so that no single call pays for all of it.
  static constexpr std::size_t kSpread = 4;  // at most one entry in 4 is used
  static constexpr std::size_t kFirstEntries = 4096;
  static constexpr std::size_t kFirstBlocks = 512;
  static constexpr std::size_t kMostLiveBlocks = (std::size_t{1} << 20) / sizeof(Block);
  static constexpr std::size_t kMovedPerInsert = 32;  // entries looked at; at least kSpread
  static constexpr std::size_t kDiscarded =
      16384;  // entries, 64 KiB: emptied pages go back to the system

  struct Map {
    MappedArray<BlockIndex> entries;
    std::size_t mask = 0;
    int shift = 0;  // of a hash, to an entry

    [[nodiscard]] bool open(std::size_t size) noexcept;
    [[nodiscard]] std::size_t home(Address address) const;
    [[nodiscard]] BlockIndex& operator[](std::size_t at) { return entries[at]; }
    [[nodiscard]] BlockIndex operator[](std::size_t at) const { return entries[at]; }
  };

  [[gnu::noinline]] void keep_in_copies(BlockIndex i) noexcept;
  [[nodiscard]] bool grow() noexcept;
  [[nodiscard]] bool grow_map() noexcept;
  [[gnu::noinline]] void move_some(std::size_t entries) noexcept;
  void put(Map& map, BlockIndex i);
  void close_gap(Map& map, std::size_t gap);
  [[nodiscard]] std::size_t search(const Map& map,
                                   Address address) const;  // its position, or a free one

  MappedArray<Block> blocks_;
  MappedArray<BlockLife> lives_;
  std::size_t most_more_ =
      ~std::size_t{0};           // records of one growth; live pages take memory at once
  std::size_t most_blocks_ = 0;  // below this count_ there is room for two more records
  std::size_t most_used_ = 0;    // below this used_ there is room for one more address
  BlockIndex top_ = 0;           // highest record ever used
  BlockIndex spare_ = 0;         // records given back, linked by next
  std::size_t count_ = 0;
  Copies<Copy> copies_;

  Map map_;
  std::size_t used_ = 0;  // addresses in both maps
  Map outgrown_;          // empty when all entries have moved
  std::size_t cursor_ = 0;
  std::size_t unmoved_ = 0;  // entries of outgrown_ not yet looked at
};

}  // namespace vramscope
