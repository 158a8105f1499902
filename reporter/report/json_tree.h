// JsonTree holds what a parser has read of a JSON text until it is used: a node of 24 bytes for
// each value, texts one behind another, and no separate memory for any of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

class JsonValue;

// Values are added in the order of the text: an open list or object receives values until it is
// closed. Threads: one. All functions may throw bad_alloc, also if a text has 2^32 values.
class JsonTree {
 public:
  enum class Type : std::uint8_t { null, no, yes, natural, negative, real, text, list, object };
  using Node = std::uint32_t;
  static constexpr Node kNone = static_cast<Node>(-1);

  // How full the tree is, so that later values can be forgotten.
  struct Mark {
    std::size_t nodes = 0;
    std::size_t texts = 0;
  };
  [[nodiscard]] Mark mark() const { return {nodes_.size(), texts_.size()}; }
  // Forgets what was added since the mark. No list or object from before the mark may have received
  // any of it.
  void forget(const Mark& mark) {
    nodes_.resize(mark.nodes);
    texts_.resize(mark.texts);
  }

  // Adds a value that belongs to no list or object yet. number: the value of natural and negative
  // numbers.
  Node add(Type type, std::uint64_t number = 0);
  Node add_text(std::string_view text);
  // Adds a value at the end of a list.
  void append(Node list, Node value);
  // Adds a member at the end of an object. A repeated name is kept twice.
  void append(Node object, std::string_view name, Node value);

  [[nodiscard]] JsonValue value(Node node) const;

 private:
  friend class JsonValue;
  struct Item {
    std::uint64_t number = 0;  // the number's bits; a text's position; a list's first and last
                               // element
    Node next = kNone;
    std::uint32_t name = 0;  // position of the member's name
    Type type = Type::null;
  };
  [[nodiscard]] std::uint32_t keep(std::string_view text);
  [[nodiscard]] std::string_view text_at(std::uint64_t at) const;

  std::vector<Item> nodes_;
  std::string texts_;  // each text behind its length
};

// One value of a tree, valid until the tree forgets it or grows. first() and next() walk an
// object's members and a list's elements; after the last one, is_there() is false.
class JsonValue {
 public:
  using Type = JsonTree::Type;
  JsonValue(const JsonTree& tree, JsonTree::Node node) : tree_(&tree), node_(node) {}

  [[nodiscard]] bool is_there() const { return node_ != JsonTree::kNone; }
  [[nodiscard]] Type type() const { return item().type; }
  [[nodiscard]] bool is(Type type) const { return item().type == type; }

  [[nodiscard]] JsonValue first() const;  // of a list or object
  [[nodiscard]] JsonValue next() const { return {*tree_, item().next}; }
  [[nodiscard]] std::size_t size() const;  // of a list or object; walks the elements
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
