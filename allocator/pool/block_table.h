// The block table holds a record of every block of every pool, and finds live ones by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocator/books/accounts.h"
#include "allocator/ground/kept_records.h"
#include "allocator/ground/mapped_array.h"
#include "allocator/ground/place.h"
#include "allocator/ground/publish.h"
#include "allocator/ground/size_policy.h"
#include "allocator/ground/snapshot.h"
#include "allocator/pool/waits.h"

namespace vramscope {

using BlockIndex = std::uint32_t;  // 0: none
using Units = std::uint32_t;       // sizes of blocks in units of kUnit bytes: below 2 TiB

inline constexpr BlockIndex kNoBlock = 0;
// A multiple of kGranularity: what is no larger has a class that is no larger either.
inline constexpr std::uint64_t kMaxBlockBytes = (std::uint64_t{1} << 32) * kUnit - kGranularity;

[[nodiscard]] constexpr std::uint64_t to_bytes(Units units) { return units * kUnit; }
[[nodiscard]] constexpr Units to_units(std::uint64_t bytes) {
  return static_cast<Units>(bytes / kUnit);
}

// A part of a segment, what every step looks at. Zero bytes are record 0, "no block": it counts as
// live, so that nobody merges with it, and takes the writes to a neighbour that does not exist.
struct Block {
  // Below the address, a multiple of kUnit, are the state and what the block belongs to.
  static constexpr std::uint64_t kStates = 3;
  static constexpr std::uint64_t kSmall = 4;   // of the small pool
  static constexpr std::uint64_t kMapped = 8;  // found by its address
  // Of a reservation (see ExpandableBlocks): part of it; addresses without memory; taken by a step
  // that unlocks. The last two are in state 1, so that nobody finds them or merges with them.
  static constexpr std::uint64_t kExpandable = 16;
  static constexpr std::uint64_t kUnbacked = 32;
  static constexpr std::uint64_t kHeld = 64;
  static constexpr std::uint64_t kFlags = kUnit - 1;

  std::uint64_t where;      // address | flags
  std::uint64_t requested;  // of this life; a free block keeps what its last life asked for
  Units size;
  BlockIndex prev, next;  // neighbours in the segment
  Tag tag;                // while live; free: searches of its pool when it became free

  [[nodiscard]] Address address() const { return where & ~kFlags; }
  [[nodiscard]] BlockState state() const { return static_cast<BlockState>(where & kStates); }
  void set_state(BlockState s) { set_where((where & ~kStates) | static_cast<std::uint64_t>(s)); }
  // Before it is live, whose it is; after that and the number, one store makes it so. Likewise all
  // changes of state (see BlockTable).
  void belong_to(Tag owner, std::uint64_t bytes) {
    publish(tag, owner);
    publish(requested, bytes);
  }
  void set_where(std::uint64_t changed) { publish(where, changed); }
  void follow_by(BlockIndex block) { publish(next, block); }
  // Of a reservation, taken by a step that unlocks: from free or unbacked, in one store.
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

// The rest of what is known of a block, apart from its record so that more records share a line.
struct BlockLife {
  std::uint64_t number = 0;  // of the allocation; pending: of the free, above the next block
  Waits::Number freed = 0;   // when it was freed: what must have finished before it is reused
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

// In live memory the table is read after a kill amid any operation. The rule by which it then shows
// each operation as done or not begun:
// - What counts of a segment's blocks is the chain from its first record by `next`; a block reaches
//   up to the next one's address. `size` and `prev` are not looked at, nor is anything else.
// - A record is written whole before a store to `next` links it. That store splits a block in two
//   of one state. Neighbours that are both free are one.
// - A record is unlinked by one store to `next` of the one before it, which must have the state
//   that both are to have by then: it grows by the range. Only after that is the record written to.
// - What a state says more of a block (tag, requested, serial) is written before the store to
//   `where` that changes it; that one store changes all flags.
// - Totals are counted before the store that makes a block live, and before the one that makes it
//   free: so live blocks are never counted less often than they are there.
// Those stores, and those that they must follow, are publish().
// Threads: one at a time.
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(LivePages blocks, LivePages lives) : blocks_(blocks), lives_(lives) {
    if (blocks.is_live()) most_more_ = kMostLiveBlocks;
  }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Makes room for two more records and one more address. False: out of memory. Moves records.
  [[nodiscard]] bool prepare() noexcept {
    if (is_prepared()) [[likely]]
      return true;
    return grow();
  }
  [[nodiscard]] bool is_prepared() const { return count_ < most_blocks_ && used_ < most_used_; }

  // Records that there is room for, and will be after the next growth.
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t next_size() const {
    if (count_ < most_blocks_) return size();
    return size() == 0 ? kFirstBlocks : size() + std::min(size(), most_more_);
  }

  [[nodiscard]] Block& operator[](BlockIndex i) { return blocks_[i]; }
  [[nodiscard]] const Block& operator[](BlockIndex i) const { return blocks_[i]; }
  [[nodiscard]] BlockLife& life(BlockIndex i) { return lives_[i]; }
  [[nodiscard]] const BlockLife& life(BlockIndex i) const { return lives_[i]; }

  // The record will be read soon: with a million of them it is far away.
  void expect(BlockIndex i) const { __builtin_prefetch(&blocks_[i]); }

  // A record with any content; after prepare().
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
    blocks_[i].set_where(Block::kFree);  // whoever still knows the index sees no live block
    blocks_[i].follow_by(spare_);
    spare_ = i;
  }

  // All records as they were at one instant, for who keeps to the rule: before what counts of a
  // record (see above) is written, that record is kept, unless it is new. The allocation and the
  // free of the hot path do not: they are not taken while there are copies.
  struct Copy {
    KeptRecords<Block> blocks;
    KeptRecords<BlockLife> lives;
    Copy* next = nullptr;
  };
  // Records to copy.
  [[nodiscard]] std::size_t extent() const { return std::size_t{top_} + 1; }
  // There is room. Until remove_copy(), what is kept is kept for it too; or nothing changes.
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
  // A block that may merge.
  void keep_around(BlockIndex i) noexcept {
    if (!has_copies()) [[likely]]
      return;
    keep_in_copies(i);
    keep_in_copies(blocks_[i].prev);
    keep_in_copies(blocks_[i].next);
  }

  // The map from addresses to blocks holds the blocks that were inserted; after prepare().
  void insert(BlockIndex i) noexcept;
  void erase(BlockIndex i) noexcept;                              // an inserted one
  [[nodiscard]] BlockIndex find(Address address) const noexcept;  // exact; kNoBlock: none

  // The same in two steps that look only once, after prepare(). Valid until the next insert or
  // erase.
  struct Entry {
    BlockIndex block = kNoBlock;
    bool outgrown = false;  // in the map that is being emptied
    std::size_t at = 0;
  };
  [[nodiscard]] Entry find_entry(Address address) const noexcept;
  void erase(Entry entry) noexcept;

  [[nodiscard]] std::size_t block_count() const { return count_; }
  [[nodiscard]] std::size_t address_count() const { return used_; }

 private:
  // Open addressing, linear; an entry is a block, its key is the block's address. A table that is
  // outgrown is emptied a few runs at a time, so that no single call pays for all of it.
  static constexpr std::size_t kSpread = 4;  // at most one entry in 4 is used
  static constexpr std::size_t kFirstEntries = 4096;
  static constexpr std::size_t kFirstBlocks = 512;
  static constexpr std::size_t kMostLiveBlocks = (std::size_t{1} << 20) / sizeof(Block);
  static constexpr std::size_t kMovedPerInsert = 32;  // entries looked at; at least kSpread
  static constexpr std::size_t kDiscarded = 16384;    // entries, 64 KiB: emptied pages go back

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
  [[nodiscard]] std::size_t search(const Map& map, Address address) const;  // where, or a free one

  MappedArray<Block> blocks_;
  MappedArray<BlockLife> lives_;
  std::size_t most_more_ = ~std::size_t{0};  // records at once: live pages are paid for when mapped
  std::size_t most_blocks_ = 0;              // count_ below which two more records are there
  std::size_t most_used_ = 0;                // used_ below which one more address is
  BlockIndex top_ = 0;                       // highest record ever used
  BlockIndex spare_ = 0;                     // records given back, linked by next
  std::size_t count_ = 0;
  Copies<Copy> copies_;

  Map map_;
  std::size_t used_ = 0;  // addresses in both maps
  Map outgrown_;          // empty when everything has moved
  std::size_t cursor_ = 0;
  std::size_t unmoved_ = 0;  // entries of outgrown_ not yet looked at
};

}  // namespace vramscope
