// TreeWriter writes dictionaries, lists, numbers and texts one by one. PickleWriter and
// JsonTreeWriter are its two formats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reporter/view/system/output.h"

namespace vramscope {

// Every begin_ function needs an end(). In a dictionary each value follows a key(). Threads: one.
// May throw bad_alloc.
class TreeWriter {
 public:
  explicit TreeWriter(Output& output) : output_(output) {}
  virtual ~TreeWriter() = default;
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  virtual void begin_dictionary() = 0;
  virtual void begin_list() = 0;
  virtual void end() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void value(std::uint64_t number) = 0;
  virtual void value(std::string_view text) = 0;
  virtual void value(const char* text) { value(std::string_view(text)); }
  virtual void boolean(bool value) = 0;
  // Refers to a value that was already written under this name. Returns true if the format can do
  // that; then nothing must be written. Otherwise the dictionary or list that begins next gets the
  // name.
  virtual bool again(std::uint64_t name) = 0;
  // Must be called after the last value.
  virtual void finish() = 0;

  template <class Value>
  void field(std::string_view name, Value content) {
    key(name);
    value(content);
  }

 protected:
  Output& output() { return output_; }

 private:
  Output& output_;
};

// Python's pickle of protocol 2 with few instructions, so that PyTorch's viewer, which is written
// in JavaScript, can read it: PROTO, EMPTY_DICT, EMPTY_LIST, MARK, SETITEMS, APPENDS, BININT1,
// BININT2, BININT, LONG1 (of at most 8 bytes, for what BININT cannot hold), BINUNICODE, NEWTRUE,
// NEWFALSE, BINPUT, LONG_BINPUT, BINGET, LONG_BINGET, STOP. Lists are written in parts of kPart,
// because the viewer passes each part as arguments of a function. Short texts and values named by
// again() are written once and then taken from the memo. Numbers are below 2^63.
class PickleWriter final : public TreeWriter {
 public:
  static constexpr std::size_t kPart = 1000;

  explicit PickleWriter(Output& output);
  void begin_dictionary() override;
  void begin_list() override;
  void end() override;
  void key(std::string_view name) override;
  void value(std::uint64_t number) override;
  void value(std::string_view text) override;
  void boolean(bool value) override;
  bool again(std::uint64_t name) override;
  void finish() override;

 private:
  struct Open {
    bool is_list = false;
    std::size_t values = 0;  // since the last MARK
  };
  void before_value();
  void begin(bool is_list);
  void memorise();
  void recall(std::uint32_t place);
  void add_number(std::uint64_t number, std::size_t bytes);

  std::vector<Open> open_;
  std::unordered_map<std::string, std::uint32_t> texts_;  // by text: its position in the memo
  std::unordered_map<std::uint64_t, std::uint32_t> names_ = {};  // by name
  std::uint32_t memorised_ = 0;
  std::uint64_t name_ = 0;
  bool is_named_ = false;
};

// JSON has no names, so a value named by again() is kept as text and written again.
class JsonTreeWriter final : public TreeWriter {
 public:
  using TreeWriter::TreeWriter;
  void begin_dictionary() override;
  void begin_list() override;
  void end() override;
  void key(std::string_view name) override;
  void value(std::uint64_t number) override;
  void value(std::string_view text) override;
  void boolean(bool value) override;
  bool again(std::uint64_t name) override;
  void finish() override;

 private:
  void separate();
  void put(std::string_view text);
  std::string open_;  // the closing characters that are still to be written
  std::unordered_map<std::uint64_t, std::string> pieces_ = {};  // the texts of named values
  std::size_t kept_bytes_ = 0;                                  // of these texts
  // The named value that is being written: its name, its text so far, and what was open before it.
  std::optional<std::uint64_t> name_ = {};
  std::string piece_ = {};
  std::size_t open_before_ = 0;
  bool is_first_ = true;
  bool after_key_ = false;
};

}  // namespace vramscope
