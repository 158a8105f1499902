// Pickle reads dictionaries, lists, tuples, texts and numbers that Python's pickle wrote, and
// executes nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Reads protocols 2 to 5 with the instructions that plain values need; any other instruction is a
// problem. Memory is a small multiple of the bytes, whatever they are, and nothing recurses.
// Threads: one.
class Pickle {
 public:
  enum class Type : std::uint8_t { none, boolean, number, real, text, list, dictionary };
  struct Value {
    Type type = Type::none;
    std::uint64_t content = 0;  // a number in two's complement, or a position for Pickle itself
  };
  static constexpr std::size_t kLongestText = std::size_t{1} << 20;

  // `bytes` outlives this object. May throw bad_alloc.
  explicit Pickle(std::string_view bytes);

  // Returns "", or "byte 17: expected ..."; then there is no value.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Value root() const { return root_; }

  // Returns the text; "" for any other value.
  [[nodiscard]] std::string_view text(Value value) const;
  // Returns the number; 0 for any other value and for negative numbers.
  [[nodiscard]] std::uint64_t number(Value value) const;
  // Returns the items of a list or tuple; none for any other value.
  [[nodiscard]] const std::vector<Value>& items(Value value) const;
  // Returns a value of a dictionary, searched among its first entries, or none if it is missing.
  [[nodiscard]] Value at(Value dictionary, std::string_view key) const;

 private:
  [[nodiscard]] bool step();
  [[nodiscard]] bool step_number(unsigned char instruction);
  [[nodiscard]] bool step_text(unsigned char instruction);
  [[nodiscard]] bool step_memo(unsigned char instruction);
  [[nodiscard]] bool step_container(unsigned char instruction);
  bool fail(const std::string& expected);
  [[nodiscard]] bool take(std::size_t bytes, std::uint64_t& number);
  bool push(Type type, std::uint64_t content);
  bool push_text(std::uint64_t length);
  bool push_list(std::size_t first);
  bool begin(Type type);
  bool add_to(std::size_t first, Type type, std::size_t multiple);
  bool recall(std::uint64_t place);
  [[nodiscard]] bool take_mark(std::size_t& first);

  const std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the present instruction
  bool ended_ = false;
  std::string problem_;
  Value root_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;
  std::vector<std::vector<Value>> containers_;  // a dictionary has keys and values in turn
};

}  // namespace vramscope
