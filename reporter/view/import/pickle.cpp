// A stack machine that knows how to build values, and nothing else.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/pickle.h"

#include <algorithm>
#include <array>

namespace vramscope {
namespace {

constexpr unsigned kLengthBits = 24;  // of a text's content, below its place
static_assert(Pickle::kLongestText < std::size_t{1} << kLengthBits);

}  // namespace

Pickle::Pickle(std::string_view bytes) : bytes_(bytes) {
  const bool is_pickle = bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
  if (!is_pickle) {
    fail("a pickle of protocol 2 to 5");
    return;
  }
  at_ = 2;
  while (!ended_ && problem_.empty()) {
    begin_ = at_;
    if (!step()) break;
  }
  if (problem_.empty() && (stack_.size() != 1 || !marks_.empty())) fail("one value");
  if (problem_.empty()) root_ = stack_.back();
}

bool Pickle::fail(const std::string& expected) {
  if (problem_.empty()) problem_ = "byte " + std::to_string(begin_) + ": expected " + expected;
  return false;
}

// Little endian.
bool Pickle::take(std::size_t bytes, std::uint64_t& number) {
  if (bytes_.size() - at_ < bytes) return fail("more bytes: the file is cut off");
  number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << 8 * i;
  }
  at_ += bytes;
  return true;
}

bool Pickle::push(Type type, std::uint64_t content) {
  stack_.push_back({type, content});
  return true;
}

bool Pickle::step() {
  std::uint64_t byte = 0;
  if (!take(1, byte)) return false;
  const auto instruction = static_cast<unsigned char>(byte);
  std::uint64_t unused = 0;
  switch (instruction) {
    case '.':  // STOP
      ended_ = true;
      return true;
    case 0x80:  // PROTO
      return take(1, unused);
    case 0x95:  // FRAME: what follows lies together, which a file does anyway
      return take(8, unused);
    case 'N':
      return push(Type::none, 0);
    case 0x88:
      return push(Type::boolean, 1);
    case 0x89:
      return push(Type::boolean, 0);
    case 'K':
    case 'M':
    case 'J':
    case 0x8a:
    case 'G':
      return step_number(instruction);
    case 'X':
    case 0x8c:
    case 0x8d:
      return step_text(instruction);
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case 0x94:
      return step_memo(instruction);
    default:
      return step_container(instruction);
  }
}

// BININT1, BININT2, BININT, LONG1, BINFLOAT.
bool Pickle::step_number(unsigned char instruction) {
  std::uint64_t number = 0;
  if (instruction == 'K') return take(1, number) && push(Type::number, number);
  if (instruction == 'M') return take(2, number) && push(Type::number, number);
  if (instruction == 'G') return take(8, number) && push(Type::real, number);
  std::uint64_t bytes = 4;
  if (instruction != 'J' && !take(1, bytes)) return false;
  const bool has_sign = bytes == 9;  // an unsigned number of 64 bits has a zero above it
  if (bytes > 9 || !take(has_sign ? 8 : bytes, number)) return fail("a number of 64 bits");
  std::uint64_t above = 0;
  if (has_sign && (!take(1, above) || above != 0)) return fail("a number of 64 bits");
  if (bytes != 0 && bytes < 8 && (number >> (8 * bytes - 1) & 1) != 0) number |= ~0ULL << 8 * bytes;
  return push(Type::number, number);
}

bool Pickle::push_text(std::uint64_t length) {
  if (length > kLongestText) return fail("a text of at most 1 MiB");
  if (length > bytes_.size() - at_) return fail("more bytes: the file is cut off");
  const std::uint64_t place = at_;
  at_ += length;
  return push(Type::text, place << kLengthBits | length);
}

// BINUNICODE, SHORT_BINUNICODE, BINUNICODE8.
bool Pickle::step_text(unsigned char instruction) {
  std::uint64_t length = 0;
  const std::size_t bytes = instruction == 'X' ? 4 : instruction == 0x8c ? 1 : 8;
  return take(bytes, length) && push_text(length);
}

bool Pickle::recall(std::uint64_t place) {
  if (place >= memo_.size()) return fail("the number of a value that was memorised");
  stack_.push_back(memo_[place]);
  return true;
}

// BINPUT, LONG_BINPUT, MEMOIZE; BINGET, LONG_BINGET.
bool Pickle::step_memo(unsigned char instruction) {
  std::uint64_t place = memo_.size();
  if (instruction != 0x94 && !take(instruction == 'q' || instruction == 'h' ? 1 : 4, place)) {
    return false;
  }
  if (instruction == 'h' || instruction == 'j') return recall(place);
  if (stack_.empty()) return fail("a value to memorise");
  if (place > memo_.size()) return fail("numbers of memorised values that follow each other");
  if (place == memo_.size()) memo_.emplace_back();
  memo_[place] = stack_.back();
  return true;
}

bool Pickle::begin(Type type) {
  containers_.emplace_back();
  return push(type, containers_.size() - 1);
}

bool Pickle::push_list(std::size_t first) {
  if (first > stack_.size()) return fail("the values of a tuple");
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Value> values(from, stack_.end());
  stack_.erase(from, stack_.end());
  begin(Type::list);
  containers_.back() = std::move(values);
  return true;
}

bool Pickle::take_mark(std::size_t& first) {
  if (marks_.empty() || marks_.back() > stack_.size()) return fail("a mark before this");
  first = marks_.back();
  marks_.pop_back();
  return true;
}

// Values from `first` on go into the container below them.
bool Pickle::add_to(std::size_t first, Type type, std::size_t multiple) {
  if (first == 0 || first > stack_.size() || stack_[first - 1].type != type ||
      (stack_.size() - first) % multiple != 0) {
    return fail(type == Type::list ? "a list and values for it" : "a dictionary and pairs for it");
  }
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Value>& to = containers_[stack_[first - 1].content];
  to.insert(to.end(), from, stack_.end());
  stack_.erase(from, stack_.end());
  return true;
}

bool Pickle::step_container(unsigned char instruction) {
  std::size_t first = 0;
  const std::size_t depth = stack_.size();
  switch (instruction) {
    case '(':  // MARK
      marks_.push_back(depth);
      return true;
    case '}':
      return begin(Type::dictionary);
    case ']':
    case ')':  // an empty tuple
      return begin(Type::list);
    case 0x85:
    case 0x86:
    case 0x87:  // TUPLE1, TUPLE2, TUPLE3
      return depth < instruction - 0x84U ? fail("the values of a tuple")
                                         : push_list(depth - (instruction - 0x84U));
    case 't':
      return take_mark(first) && push_list(first);
    case 'a':  // APPEND
      return depth < 2 ? fail("a list and a value for it") : add_to(depth - 1, Type::list, 1);
    case 's':  // SETITEM
      return depth < 3 ? fail("a dictionary and a pair for it")
                       : add_to(depth - 2, Type::dictionary, 2);
    case 'e':
      return take_mark(first) && add_to(first, Type::list, 1);
    case 'u':
      return take_mark(first) && add_to(first, Type::dictionary, 2);
    default:
      return fail("an instruction that plain values need, not number " +
                  std::to_string(instruction));
  }
}

std::string_view Pickle::text(Value value) const {
  if (value.type != Type::text) return {};
  const std::uint64_t length = value.content & ((std::uint64_t{1} << kLengthBits) - 1);
  return bytes_.substr(value.content >> kLengthBits, length);
}

std::uint64_t Pickle::number(Value value) const {
  const bool is_number = value.type == Type::number || value.type == Type::boolean;
  return is_number ? value.content : 0;
}

const std::vector<Pickle::Value>& Pickle::items(Value value) const {
  static const std::vector<Value> kNothing;
  return value.type == Type::list ? containers_[value.content] : kNothing;
}

Pickle::Value Pickle::at(Value dictionary, std::string_view key) const {
  constexpr std::size_t kMostLookedAt = 128;  // keys and values; what is read here has 20 keys
  if (dictionary.type != Type::dictionary) return {};
  const std::vector<Value>& pairs = containers_[dictionary.content];
  for (std::size_t i = 0; i + 1 < std::min(pairs.size(), kMostLookedAt); i += 2) {
    if (text(pairs[i]) == key) return pairs[i + 1];
  }
  return {};
}

}  // namespace vramscope
