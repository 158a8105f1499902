// JsonText writes the JSON of listings as a stream of fields, so that no tree is built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "reporter/view/listing/cell_value.h"

namespace vramscope {

// Every object() and array() has its end(). Inside an object each value follows a key().
class JsonText {
 public:
  JsonText& object() { return begin('{'); }
  JsonText& array() { return begin('['); }
  JsonText& end();
  JsonText& key(std::string_view name);
  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(bool boolean) { return raw(boolean ? "true" : "false"); }
  JsonText& value(std::integral auto number) { return raw(std::to_string(number)); }
  JsonText& null() { return raw("null"); }
  // null where it is unknown.
  JsonText& cell(const CellValue& cell);
  // A value that is JSON already, with or without a newline at its end; null for none.
  JsonText& json(std::string_view value);
  template <class Value>
  JsonText& field(std::string_view name, const Value& content) {
    return key(name).value(content);
  }
  // With a newline at its end.
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  JsonText& begin(char open);
  JsonText& raw(std::string_view text);
  void separate();
  std::string text_;
  std::string open_;  // the closing characters still owed
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace vramscope
