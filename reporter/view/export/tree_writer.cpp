// The two forms of a tree of values.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/tree_writer.h"

#include "reporter/report/json_writer.h"

namespace vramscope {
namespace {

// Instructions: the names are those of Python's pickletools.
constexpr char kProto = '\x80';
constexpr char kEmptyDict = '}';
constexpr char kEmptyList = ']';
constexpr char kMark = '(';
constexpr char kSetItems = 'u';
constexpr char kAppends = 'e';
constexpr char kBinInt1 = 'K';
constexpr char kBinInt2 = 'M';
constexpr char kBinInt = 'J';
constexpr char kLong1 = '\x8a';
constexpr char kBinUnicode = 'X';
constexpr char kNewTrue = '\x88';
constexpr char kNewFalse = '\x89';
constexpr char kBinPut = 'q';
constexpr char kLongBinPut = 'r';
constexpr char kBinGet = 'h';
constexpr char kLongBinGet = 'j';
constexpr char kStop = '.';

constexpr std::size_t kMostMemorised = 256;  // bytes of a text that is kept
constexpr std::size_t kMostTexts = std::size_t{1} << 20;
constexpr std::size_t kMostPieces = std::size_t{64} << 20;  // bytes of JSON that are kept

}  // namespace

PickleWriter::PickleWriter(Output& output) : TreeWriter(output) {
  (output.text() += kProto) += '\2';
}

void PickleWriter::add_number(std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) output().text() += static_cast<char>(number >> 8 * i);
}

// Values of a list are between MARK and APPENDS.
void PickleWriter::before_value() {
  if (open_.empty() || !open_.back().is_list) return;
  Open& list = open_.back();
  if (list.values == kPart) {
    output().text() += kAppends;
    list.values = 0;
  }
  if (list.values++ == 0) output().text() += kMark;
}

void PickleWriter::memorise() {
  const std::uint32_t place = memorised_++;
  constexpr std::uint32_t kShort = 256;
  output().text() += place < kShort ? kBinPut : kLongBinPut;
  add_number(place, place < kShort ? 1 : 4);
}

void PickleWriter::recall(std::uint32_t place) {
  constexpr std::uint32_t kShort = 256;
  output().text() += place < kShort ? kBinGet : kLongBinGet;
  add_number(place, place < kShort ? 1 : 4);
}

void PickleWriter::begin(bool is_list) {
  before_value();
  output().text() += is_list ? kEmptyList : kEmptyDict;
  if (is_named_) {
    names_[name_] = memorised_;
    memorise();
    is_named_ = false;
  }
  if (!is_list) output().text() += kMark;
  open_.push_back({.is_list = is_list, .values = 0});
  output().flush_if_long();
}

void PickleWriter::begin_dictionary() { begin(false); }
void PickleWriter::begin_list() { begin(true); }

void PickleWriter::end() {
  const Open closed = open_.back();
  open_.pop_back();
  if (!closed.is_list) {
    output().text() += kSetItems;
  } else if (closed.values != 0) {
    output().text() += kAppends;
  }
}

void PickleWriter::key(std::string_view name) { value(name); }

void PickleWriter::value(std::uint64_t number) {
  before_value();
  std::string& text = output().text();
  if (number <= 0xff) {
    text += kBinInt1;
    add_number(number, 1);
  } else if (number <= 0xffff) {
    text += kBinInt2;
    add_number(number, 2);
  } else if (number <= 0x7fffffff) {
    text += kBinInt;
    add_number(number, 4);
  } else {
    (text += kLong1) += '\x8';
    add_number(number & 0x7fffffffffffffffU, 8);
  }
}

void PickleWriter::value(std::string_view text) {
  before_value();
  const bool is_kept = text.size() <= kMostMemorised && texts_.size() < kMostTexts;
  if (is_kept) {
    const auto [known, is_new] = texts_.try_emplace(std::string(text), memorised_);
    if (!is_new) return recall(known->second);
  }
  output().text() += kBinUnicode;
  add_number(text.size(), 4);
  output() << text;
  if (is_kept) memorise();
}

void PickleWriter::boolean(bool value) {
  before_value();
  output().text() += value ? kNewTrue : kNewFalse;
}

bool PickleWriter::again(std::uint64_t name) {
  const auto known = names_.find(name);
  if (known != names_.end()) {
    before_value();
    recall(known->second);
    return true;
  }
  name_ = name;
  is_named_ = true;
  return false;
}

void PickleWriter::finish() { output().text() += kStop; }

void JsonTreeWriter::put(std::string_view text) {
  output() << text;
  if (name_) piece_ += text;
}

void JsonTreeWriter::separate() {
  if (!after_key_ && !is_first_) put(",");
  after_key_ = false;
  is_first_ = false;
}

void JsonTreeWriter::begin_dictionary() {
  separate();
  put(open_.empty() ? "{" : "\n{");
  open_ += '}';
  is_first_ = true;
}

void JsonTreeWriter::begin_list() {
  separate();
  put("[");
  open_ += ']';
  is_first_ = true;
}

void JsonTreeWriter::end() {
  put({&open_.back(), 1});
  open_.pop_back();
  is_first_ = false;
  if (!name_ || open_.size() != open_before_) return;
  kept_bytes_ += piece_.size();
  if (kept_bytes_ <= kMostPieces) pieces_[*name_] = piece_;
  name_.reset();
}

bool JsonTreeWriter::again(std::uint64_t name) {
  const auto known = pieces_.find(name);
  if (known == pieces_.end()) {
    separate();  // no part of the piece
    after_key_ = true;
    name_ = name;
    piece_.clear();
    open_before_ = open_.size();
    return false;
  }
  separate();
  put(known->second);
  return true;
}

void JsonTreeWriter::key(std::string_view name) {
  separate();
  put(json_string(name) + ":");
  after_key_ = true;
}

void JsonTreeWriter::value(std::uint64_t number) {
  separate();
  put(std::to_string(number));
}

void JsonTreeWriter::value(std::string_view text) {
  separate();
  put(json_string(text));
}

void JsonTreeWriter::boolean(bool value) {
  separate();
  put(value ? "true" : "false");
}

void JsonTreeWriter::finish() { output() << "\n"; }

}  // namespace vramscope
