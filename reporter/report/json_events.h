// parsed_quickly() lets RapidJSON pass the content of a JSON text to a builder, several times as
// fast as the library that describes errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// RapidJSON's stack adds to a null pointer before it has memory, which the sanitizer would report.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <cstdint>
#include <string>
#include <string_view>

#include "reporter/report/files/passed_text.h"

namespace vramscope {

// Passes the parser's events on under the names of the other library (nlohmann::json_sax).
template <class Builder>
class JsonEvents {
 public:
  // The parser reads from the stream. Text that it has read is given back to the system.
  JsonEvents(Builder& builder, const rapidjson::StringStream& stream, PassedText& text)
      : builder_(builder), stream_(stream), text_(text) {}

  bool Null() { return builder_.null(); }
  bool Bool(bool value) { return builder_.boolean(value); }
  bool Int(int value) { return builder_.number_integer(value); }
  bool Int64(std::int64_t value) { return builder_.number_integer(value); }
  bool Uint(unsigned value) { return builder_.number_unsigned(value); }
  bool Uint64(std::uint64_t value) { return builder_.number_unsigned(value); }
  bool Double(double value) { return builder_.number_float(value, {}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // never called
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return builder_.string(std::string_view(text, length));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    return builder_.key(std::string_view(text, length));
  }
  bool StartObject() { return builder_.start_object(0); }
  bool EndObject(rapidjson::SizeType) {
    text_.passed(stream_.Tell());
    return builder_.end_object();
  }
  bool StartArray() { return builder_.start_array(0); }
  bool EndArray(rapidjson::SizeType) { return builder_.end_array(); }

 private:
  Builder& builder_;
  const rapidjson::StringStream& stream_;
  PassedText& text_;
};

// Parses the text. Returns false if it is not JSON, or if only the other library can decide; the
// builder's content is then useless, and so is the text unless `passed` is whole. Exceptions of the
// builder pass through. The builder must limit how deeply values are nested.
template <class Builder>
[[nodiscard]] bool parsed_quickly(const std::string& text, PassedText& passed, Builder& builder) {
  const bool has_surrogates = text.find("\\ud") != text.npos || text.find("\\uD") != text.npos;
  if (has_surrogates) return false;  // this parser does not refuse a single surrogate
  rapidjson::Reader reader;
  rapidjson::StringStream stream(text.c_str());
  JsonEvents<Builder> events(builder, stream, passed);
  reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, events);
  return !reader.HasParseError() && stream.Tell() == text.size();
}

}  // namespace vramscope
