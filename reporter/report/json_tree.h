// JsonTree holds what a parser read of a JSON text until somebody has taken it: a node of 24 bytes
// for each value, texts one after the other, and no memory of its own for any of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

class JsonValue;

// Values come in the order of the text: an open list or object gets what is added until it is
// closed. Threads: one. All may throw bad_alloc, also where a text has 2^32 values.
class JsonTree {
 public:
  enum class Type : std::uint8_t { null, no, yes, natural, negative, real, text, list, object };
  using Node = std::uint32_t;
  static constexpr Node kNone = static_cast<Node>(-1);

  // How far the tree is filled, to forget what came after.
  struct Mark {
    std::size_t nodes = 0;
    std::size_t texts = 0;
  };
  [[nodiscard]] Mark mark() const { return {nodes_.size(), texts_.size()}; }
  // No list or object that was there at the mark may have been given any of it.
  void forget(const Mark& mark) {
    nodes_.resize(mark.nodes);
    texts_.resize(mark.texts);
  }

  // A value that belongs nowhere yet. `number`: of natural and negative ones.
  Node add(Type type, std::uint64_t number = 0);
  Node add_text(std::string_view text);
  // Puts it at the end of a list.
  void append(Node list, Node value);
  // Puts it at the end of an object. A name that comes twice is there twice.
  void append(Node object, std::string_view name, Node value);

  [[nodiscard]] JsonValue value(Node node) const;

 private:
  friend class JsonValue;
  struct Item {
    std::uint64_t number = 0;  // its bits; of a text where it is; of a list its first and last
    Node next = kNone;
    std::uint32_t name = 0;  // where it is
    Type type = Type::null;
  };
  [[nodiscard]] std::uint32_t keep(std::string_view text);
  [[nodiscard]] std::string_view text_at(std::uint64_t at) const;

  std::vector<Item> nodes_;
  std::string texts_;  // each behind its length
};

// One value of a tree, good until the tree forgets it or gets more. An object's members and a
// list's elements are walked by first() and next(); there is nothing behind the last one.
class JsonValue {
 public:
  using Type = JsonTree::Type;
  JsonValue(const JsonTree& tree, JsonTree::Node node) : tree_(&tree), node_(node) {}

  [[nodiscard]] bool is_there() const { return node_ != JsonTree::kNone; }
  [[nodiscard]] Type type() const { return item().type; }
  [[nodiscard]] bool is(Type type) const { return item().type == type; }

  [[nodiscard]] JsonValue first() const;  // of a list or object
  [[nodiscard]] JsonValue next() const { return {*tree_, item().next}; }
  [[nodiscard]] std::size_t size() const;  // of a list or object; walks
  [[nodiscard]] std::string_view name() const { return tree_->text_at(item().name); }

  [[nodiscard]] std::uint64_t natural() const { return item().number; }
  [[nodiscard]] std::int64_t negative() const { return static_cast<std::int64_t>(item().number); }
  [[nodiscard]] std::string_view text() const { return tree_->text_at(item().number); }

 private:
  [[nodiscard]] const JsonTree::Item& item() const { return tree_->nodes_[node_]; }

  const JsonTree* tree_;
  JsonTree::Node node_;
};

inline JsonValue JsonTree::value(Node node) const { return {*this, node}; }

}  // namespace vramscope
