// B+trees whose nodes are indices into one arena.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/key_trees.h"

#include <cassert>
#include <cstring>

namespace vramscope {

KeyTrees::Index KeyTrees::make(unsigned height) noexcept {
  const Index at = spare_ != 0 ? spare_ : ++top_;
  assert(at < nodes_.size());
  if (spare_ != 0) spare_ = nodes_[at].next;
  ++used_;
  nodes_[at].count = 0;
  nodes_[at].height = static_cast<std::uint16_t>(height);
  return at;
}

void KeyTrees::drop(Index node) noexcept {
  --used_;
  nodes_[node].next = spare_;
  spare_ = node;
}

unsigned KeyTrees::rank(const Node& node, Key key) {
  unsigned low = 0;
  for (unsigned left = node.count; left > 0;) {
    const unsigned half = left / 2;
    const bool above = node.keys[low + half] <= key;
    low = above ? low + half + 1 : low;
    left = above ? left - half - 1 : half;
  }
  return low;
}

unsigned KeyTrees::child_of(const Node& node, Key key) {
  const unsigned above = rank(node, key);
  return above > 0 ? above - 1 : 0;
}

void KeyTrees::put(Node& node, unsigned at, Key key, std::uint32_t value) {
  const unsigned behind = node.count - at;
  std::memmove(node.keys + at + 1, node.keys + at, behind * sizeof(Key));
  std::memmove(node.values + at + 1, node.values + at, behind * sizeof(std::uint32_t));
  node.keys[at] = key;
  node.values[at] = value;
  ++node.count;
}

void KeyTrees::cut(Node& node, unsigned at) {
  --node.count;
  const unsigned behind = node.count - at;
  std::memmove(node.keys + at, node.keys + at + 1, behind * sizeof(Key));
  std::memmove(node.values + at, node.values + at + 1, behind * sizeof(std::uint32_t));
}

void KeyTrees::insert(Root& root, Key key, BlockIndex block) noexcept {
  if (root == kEmpty) root = make(0);
  const Split grown = insert_below(root, key, block);
  if (grown.node == 0) return;
  const Index above = make(nodes_[root].height + 1U);
  put(nodes_[above], 0, 0, root);
  put(nodes_[above], 1, grown.least, grown.node);
  root = above;
}

KeyTrees::Split KeyTrees::insert_below(Index at, Key key, std::uint32_t value) noexcept {
  Node& node = nodes_[at];
  if (node.height > 0) {
    const Split grown = insert_below(node.values[child_of(node, key)], key, value);
    if (grown.node == 0) return {};
    key = grown.least;
    value = grown.node;
  }
  const unsigned position = rank(node, key);
  if (node.count == kCapacity) return split(node, position, key, value);
  put(node, position, key, value);
  return {};
}

// Splits in the middle, but at an end if the new key lies there, so that keys in order fill nodes.
KeyTrees::Split KeyTrees::split(Node& node, unsigned at, Key key, std::uint32_t value) noexcept {
  constexpr unsigned kAtEnd = 4;
  const unsigned from = at == kCapacity ? kCapacity - kAtEnd : at == 0 ? kAtEnd : kCapacity / 2;
  const Index index = make(node.height);
  Node& right = nodes_[index];
  right.count = static_cast<std::uint16_t>(kCapacity - from);
  std::memcpy(right.keys, node.keys + from, right.count * sizeof(Key));
  std::memcpy(right.values, node.values + from, right.count * sizeof(std::uint32_t));
  node.count = static_cast<std::uint16_t>(from);
  if (at <= from) {
    put(node, at, key, value);
  } else {
    put(right, at - from, key, value);
  }
  return {index, right.keys[0]};
}

void KeyTrees::erase(Root& root, Key key) noexcept {
  erase_below(root, key);
  while (nodes_[root].height > 0 && nodes_[root].count == 1) {
    const Index only = nodes_[root].values[0];
    drop(root);
    root = only;
  }
  if (nodes_[root].count > 0) return;
  drop(root);
  root = kEmpty;
}

void KeyTrees::erase_below(Index at, Key key) noexcept {
  Node& node = nodes_[at];
  const unsigned child = child_of(node, key);
  if (node.height == 0) {
    assert(node.count > 0 && node.keys[child] == key);
    return cut(node, child);
  }
  erase_below(node.values[child], key);
  tidy(node, child);
}

void KeyTrees::tidy(Node& parent, unsigned child) noexcept {
  const Index at = parent.values[child];
  if (nodes_[at].count >= kThin) return;
  if (nodes_[at].count == 0) {
    const Key least = parent.keys[0];
    drop(at);
    cut(parent, child);
    if (parent.count > 0) parent.keys[0] = least;  // the first child takes over the keys below it
    return;
  }
  if (!merge(parent, child) && child > 0) static_cast<void>(merge(parent, child - 1));
}

bool KeyTrees::merge(Node& parent, unsigned left) noexcept {
  if (left + 1 >= parent.count) return false;
  Node& a = nodes_[parent.values[left]];
  Node& b = nodes_[parent.values[left + 1]];
  if (a.count + b.count > kMerged) return false;
  if (b.height > 0) b.keys[0] = parent.keys[left + 1];
  std::memcpy(a.keys + a.count, b.keys, b.count * sizeof(Key));
  std::memcpy(a.values + a.count, b.values, b.count * sizeof(std::uint32_t));
  a.count = static_cast<std::uint16_t>(a.count + b.count);
  drop(parent.values[left + 1]);
  cut(parent, left + 1);
  return true;
}

// All keys of the child for `limit` may exceed it; then the previous child has the entry.
KeyTrees::Entry KeyTrees::find(Root root, Key limit) const noexcept {
  if (root == kEmpty) return {};
  const Node& node = nodes_[root];
  if (node.height == 0) {
    const unsigned above = rank(node, limit);
    if (above == 0) return {};
    return {node.keys[above - 1], node.values[above - 1]};
  }
  for (unsigned child = child_of(node, limit) + 1; child > 0; --child) {
    const Entry found = find(node.values[child - 1], limit);
    if (found.block != kNoBlock) return found;
  }
  return {};
}

KeyTrees::Entry KeyTrees::take_greatest(Root& root) noexcept {
  Index at = root;
  while (nodes_[at].height > 0) at = nodes_[at].values[nodes_[at].count - 1];
  Node& leaf = nodes_[at];
  const Entry greatest = {leaf.keys[leaf.count - 1], leaf.values[leaf.count - 1]};
  if (leaf.count > kThin) {
    --leaf.count;
  } else {
    erase(root, greatest.key);
  }
  return greatest;
}

}  // namespace vramscope
