// Key trees are ordered sets of blocks: the blocks of a bin that are not among its best four.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/mapped_array.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// They are B+trees over one arena of nodes. A set of up to 84 blocks is one sorted array; a set of
// a million blocks has a height of three nodes.
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

  // Makes room for this many sets with this many blocks in all, in any order. Returns false if
  // memory is exhausted.
  [[nodiscard]] bool prepare(std::size_t sets, std::size_t blocks) noexcept {
    return nodes_.grow_to(sets + blocks / kLeastFill + kSpare);
  }

  void insert(Root& root, Key key, BlockIndex block) noexcept;
  void erase(Root& root, Key key) noexcept;  // an inserted one
  // Returns the entry with the greatest key up to `limit`.
  [[nodiscard]] Entry find(Root root, Key limit) const noexcept;
  // Takes the entry with the greatest key out of a set that is not empty.
  Entry take_greatest(Root& root) noexcept;

  [[nodiscard]] std::size_t node_count() const { return used_; }

 private:
  using Index = std::uint32_t;
  static constexpr unsigned kCapacity = 84;
  // Two neighbours that each hold fewer than this are merged.
  static constexpr unsigned kThin = 21;
  static constexpr unsigned kMerged = 63;
  // The least average fill, by which the number of nodes is computed: a third of an inner node's
  // children may be nearly empty, and inner nodes come on top.
  static constexpr std::size_t kLeastFill = 4;
  static constexpr std::size_t kSpare = 16;

  // The values of a leaf are blocks. The values of an inner node are child nodes, and its keys are
  // the lower bounds of their keys; the first child has no lower bound.
  struct alignas(64) Node {
    std::uint16_t count;
    std::uint16_t height;  // 0: leaf
    Index next;            // links unused nodes
    Key keys[kCapacity];
    std::uint32_t values[kCapacity];
  };
  static_assert(sizeof(Node) == 1024);

  // The new right neighbour of a node that was full.
  struct Split {
    Index node = 0;
    Key least = 0;
  };

  [[nodiscard]] Index make(unsigned height) noexcept;
  void drop(Index node) noexcept;
  [[nodiscard]] static unsigned rank(const Node& node, Key key);  // number of keys up to `key`
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
