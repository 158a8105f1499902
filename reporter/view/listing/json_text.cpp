// JSON of the views' listings.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/json_text.h"

#include <array>
#include <cstdio>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    std::string_view rest = text;
    const char32_t c = take_code_point(rest);
    const std::string_view bytes = text.substr(0, text.size() - rest.size());
    text = rest;
    if (c == kNoCodePoint) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      (result += '\\') += bytes;
    } else if (misleads(c)) {
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escape.data();
    } else {
      result += bytes;
    }
  }
  return result + "\"";
}

}  // namespace
void JsonText::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ',';
  if (!open_.empty()) (text_ += '\n').append(2 * open_.size(), ' ');
  first_ = false;
}

JsonText& JsonText::begin(char open) {
  separate();
  text_ += open;
  open_ += open == '{' ? '}' : ']';
  first_ = true;
  return *this;
}

JsonText& JsonText::end() {
  const char close = open_.back();
  open_.pop_back();
  if (!first_) (text_ += '\n').append(2 * open_.size(), ' ');
  text_ += close;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  (text_ += quoted(name)) += ": ";
  after_key_ = true;
  return *this;
}

JsonText& JsonText::value(std::string_view text) { return raw(quoted(text)); }

JsonText& JsonText::cell(const CellValue& cell) {
  const auto list = [this](const auto& all) {
    array();
    for (const auto& one : all) value(one);
    end();
  };
  if (const bool* truth = std::get_if<bool>(&cell)) return value(*truth);
  if (const auto* whole = std::get_if<std::uint64_t>(&cell)) return value(*whole);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return value(*number);
  if (const auto* word = std::get_if<std::string>(&cell)) return value(std::string_view(*word));
  if (const auto* stack = std::get_if<CellStack>(&cell)) {
    list(*stack);
  } else if (const auto* numbers = std::get_if<CellNumbers>(&cell)) {
    list(*numbers);
  } else {
    null();
  }
  return *this;
}

JsonText& JsonText::json(std::string_view value) {
  if (value.ends_with('\n')) value.remove_suffix(1);
  return raw(value.empty() ? "null" : value);
}

JsonText& JsonText::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

}  // namespace vramscope
