// Links the values of a list or object in order.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json_tree.h"

#include <cstring>
#include <limits>
#include <new>

namespace vramscope {

namespace {

constexpr unsigned kHalf = 32;  // a list's first value is in the lower bits, its last in the upper
constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();  // the list has neither

}  // namespace

JsonTree::Node JsonTree::add(Type type, std::uint64_t number) {
  if (nodes_.size() >= kNone) throw std::bad_alloc();
  const bool has_values = type == Type::list || type == Type::object;
  nodes_.push_back({.number = has_values ? kEmpty : number, .type = type});
  return static_cast<Node>(nodes_.size() - 1);
}

JsonTree::Node JsonTree::add_text(std::string_view text) { return add(Type::text, keep(text)); }

void JsonTree::append(Node list, Node value) {
  std::uint64_t& ends = nodes_[list].number;
  const auto last = static_cast<Node>(ends >> kHalf);
  const Node first = last == kNone ? value : static_cast<Node>(ends);
  if (last != kNone) nodes_[last].next = value;
  ends = std::uint64_t{value} << kHalf | first;
}

void JsonTree::append(Node object, std::string_view name, Node value) {
  nodes_[value].name = keep(name);
  append(object, value);
}

std::uint32_t JsonTree::keep(std::string_view text) {
  const std::size_t at = texts_.size();
  const auto length = static_cast<std::uint32_t>(text.size());
  if (at > std::numeric_limits<std::uint32_t>::max() || length != text.size()) {
    throw std::bad_alloc();
  }
  texts_.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  return static_cast<std::uint32_t>(at);
}

std::string_view JsonTree::text_at(std::uint64_t at) const {
  std::uint32_t length = 0;
  std::memcpy(&length, texts_.data() + at, sizeof length);
  return {texts_.data() + at + sizeof length, length};
}

JsonValue JsonValue::first() const {
  return {*tree_,
          item().number == kEmpty ? JsonTree::kNone : static_cast<JsonTree::Node>(item().number)};
}

std::size_t JsonValue::size() const {
  std::size_t count = 0;
  for (JsonValue value = first(); value.is_there(); value = value.next()) ++count;
  return count;
}

}  // namespace vramscope
