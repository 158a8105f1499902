// Key trees are ordered sets of blocks: those of a bin that are not among its best four.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/ground/mapped_array.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// B+trees over one arena of nodes. A set of up to 84 blocks is one sorted array; a million blocks
// of one size are three nodes away.
// Threads: one at a time.
class KeyTrees {
 public:
  using Key = std::uint64_t;  // unique in its set
  using Root = std::uint32_t;
  static constexpr Root kEmpty = 0;
  struct Entry {
    Key key = 0;
    BlockIndex block = kNoBlock;  // kNoBlock: there is none
  };

  // Capacity for so many sets with so many blocks together, whatever their order. False: out of
  // memory.
  [[nodiscard]] bool prepare(std::size_t sets, std::size_t blocks) noexcept {
    return nodes_.grow_to(sets + blocks / kLeastFill + kSpare);
  }

  void insert(Root& root, Key key, BlockIndex block) noexcept;
  void erase(Root& root, Key key) noexcept;  // an inserted one
  // The greatest key that is no greater than `limit`.
  [[nodiscard]] Entry find(Root root, Key limit) const noexcept;
  // The greatest of all, which leaves its set; not of an empty one.
  Entry take_greatest(Root& root) noexcept;

  [[nodiscard]] std::size_t node_count() const { return used_; }

 private:
  using Index = std::uint32_t;
  static constexpr unsigned kCapacity = 84;
  // Two neighbours with less than this each are one, so that any two hold more.
  static constexpr unsigned kThin = 21;
  static constexpr unsigned kMerged = 63;
  // Nodes are made for the worst case: a third of those of an inner node may hold no more than its
  // neighbour's share, and the inner ones come to it.
  static constexpr std::size_t kLeastFill = 4;
  static constexpr std::size_t kSpare = 16;

  // A leaf has blocks as values. An inner node has nodes, and the key below which nothing in them
  // lies, but for the first: nothing lies below it either way.
  struct alignas(64) Node {
    std::uint16_t count;
    std::uint16_t height;  // 0: leaf
    Index next;            // of those that are not used
    Key keys[kCapacity];
    std::uint32_t values[kCapacity];
  };
  static_assert(sizeof(Node) == 1024);

  // What a full node gave up: a new node on its right.
  struct Split {
    Index node = 0;
    Key least = 0;
  };

  [[nodiscard]] Index make(unsigned height) noexcept;
  void drop(Index node) noexcept;
  [[nodiscard]] static unsigned rank(const Node& node, Key key);  // keys that are no greater
  [[nodiscard]] static unsigned child_of(const Node& node, Key key);
  static void put(Node& node, unsigned at, Key key, std::uint32_t value);
  static void cut(Node& node, unsigned at);
  Split insert_below(Index at, Key key, std::uint32_t value) noexcept;
  Split split(Node& node, unsigned at, Key key, std::uint32_t value) noexcept;
  void erase_below(Index at, Key key) noexcept;
  void tidy(Node& parent, unsigned child) noexcept;
  [[nodiscard]] bool merge(Node& parent, unsigned left) noexcept;

  MappedArray<Node> nodes_;
  Index top_ = 0;
  Index spare_ = 0;
  std::size_t used_ = 0;
};

}  // namespace vramscope
