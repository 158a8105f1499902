// The pickle writer: what it writes is what Python's pickle, protocol 2, means by it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reporter/view/export/tree_writer.h"

namespace vramscope {
namespace {

// A reader of the writer's instructions and no others; it gives what was read as a text, "(1,'a')".
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string read() {
    if (take(2) != "\x80\x02") return "no protocol 2";
    while (at_ < bytes_.size()) {
      const char instruction = bytes_[at_++];
      if (instruction == '.')
        return stack_.size() == 1 && at_ == bytes_.size() ? *stack_[0] : "left";
      if (!step(instruction)) return std::string("instruction ") + instruction;
    }
    return "no end";
  }
  [[nodiscard]] std::size_t longest_part() const { return longest_part_; }
  [[nodiscard]] std::size_t recalled() const { return recalled_; }

 private:
  // Of a list or dictionary, what is in the memo fills up as well.
  using Value = std::shared_ptr<std::string>;

  std::string take(std::size_t bytes) {
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t result = 0;
    const std::string text = take(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      result |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * i;
    return result;
  }
  bool push(std::string value) {
    stack_.push_back(std::make_shared<std::string>(std::move(value)));
    return true;
  }
  bool recall(std::uint64_t place) {
    ++recalled_;
    if (!memo_.contains(place)) return false;
    stack_.push_back(memo_[place]);
    return true;
  }
  // What lies above the last mark goes into what lies below it.
  bool gather(char kind) {
    std::string& into = *stack_[marks_.back() - 1];
    longest_part_ = std::max(longest_part_, stack_.size() - marks_.back());
    for (std::size_t i = marks_.back(); i < stack_.size(); ++i) into += *stack_[i] + kind;
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  bool step(char instruction) {
    switch (instruction) {
      case '}':
        return push("D");
      case ']':
        return push("L");
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 'u':
        return gather(';');
      case 'e':
        return gather(',');
      case 'K':
        return push(std::to_string(number(1)));
      case 'M':
        return push(std::to_string(number(2)));
      case 'J':
        return push(std::to_string(number(4)));
      case '\x8a':
        return number(1) == 8 && push(std::to_string(number(8)));
      case 'X':
        return push("'" + take(number(4)) + "'");
      case '\x88':
        return push("true");
      case '\x89':
        return push("false");
      case 'q':
        memo_[number(1)] = stack_.back();
        return true;
      case 'r':
        memo_[number(4)] = stack_.back();
        return true;
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      default:
        return false;
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, Value> memo_;
  std::size_t longest_part_ = 0;
  std::size_t recalled_ = 0;
};

// Writes the same into a pickle and into the text that the reader gives.
class Both {
 public:
  void number(std::uint64_t value) {
    pickle.value(value);
    text += std::to_string(value);
  }
  void word(const std::string& value) {
    pickle.value(value);
    text += "'" + value + "'";
  }
  Output output{"/dev/null"};
  PickleWriter pickle{output};
  std::string text;
};

void add_random(Both& both, std::mt19937& random, int depth) {
  switch (random() % (depth > 3 ? 3 : 5)) {
    case 0:
      return both.number(random() >> random() % 32);
    case 1:
      return both.number((std::uint64_t{random()} << 31) + random() % 3);
    case 2:
      return both.word(std::string(random() % 300, static_cast<char>('a' + random() % 3)));
    case 3:
      both.pickle.begin_list();
      both.text += "L";
      for (std::uint32_t i = random() % 6; i != 0; --i) {
        add_random(both, random, depth + 1);
        both.text += ",";
      }
      return both.pickle.end();
    default:
      both.pickle.begin_dictionary();
      both.text += "D";
      for (std::uint32_t i = random() % 6; i != 0; --i) {
        both.pickle.key("k" + std::to_string(i));
        both.text += "'k" + std::to_string(i) + "';";
        add_random(both, random, depth + 1);
        both.text += ";";
      }
      return both.pickle.end();
  }
}

TEST(Pickle, OfRandomTreesIsReadAsTheyWere) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Both both;
    add_random(both, random, 0);
    both.pickle.finish();
    ASSERT_EQ(both.text, Reader(both.output.text()).read()) << "seed " << seed;
  }
}

TEST(Pickle, OfNumbersAtTheEdgesOfTheirFormsIsReadAsTheyWere) {
  for (const std::uint64_t value : {0ULL, 0xffULL, 0x100ULL, 0xffffULL, 0x10000ULL, 0x7fffffffULL,
                                    0x80000000ULL, 0xffffffffULL, 0x7fffffffffffffffULL}) {
    Both both;
    both.number(value);
    both.pickle.finish();
    EXPECT_EQ(both.text, Reader(both.output.text()).read());
  }
}

// The viewer passes the values of a part as arguments of a function.
TEST(Pickle, AppendsToLongListsInParts) {
  Both both;
  both.pickle.begin_list();
  both.text += "L";
  for (std::uint64_t i = 0; i < 2 * PickleWriter::kPart + 1; ++i) {
    both.number(i);
    both.text += ",";
  }
  both.pickle.end();
  both.pickle.finish();

  Reader reader(both.output.text());
  EXPECT_EQ(both.text, reader.read());
  EXPECT_EQ(PickleWriter::kPart, reader.longest_part());
}

TEST(Pickle, WritesNamedListsAndTextsOnce) {
  Both both;
  both.pickle.begin_list();
  for (int i = 0; i < 3; ++i) {
    if (both.pickle.again(7)) continue;
    both.pickle.begin_list();
    both.pickle.value("once");
    both.pickle.end();
  }
  both.pickle.value("once");
  both.pickle.end();
  both.pickle.finish();

  Reader reader(both.output.text());
  EXPECT_EQ("LL'once',,L'once',,L'once',,'once',", reader.read());
  EXPECT_EQ(3U, reader.recalled());
}

}  // namespace
}  // namespace vramscope
