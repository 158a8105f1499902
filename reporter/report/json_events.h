// parsed_quickly() has RapidJSON tell a builder what a JSON text holds, several times as fast as
// the library that words what is wrong with one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Its stack adds to a null pointer before it has memory, which the sanitizer takes for a mistake.
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

// The parser's events in the words of the other library's (nlohmann::json_sax).
template <class Builder>
class JsonEvents {
 public:
  // The parser reads from the stream, whose text is given back as far as that has come.
  JsonEvents(Builder& builder, const rapidjson::StringStream& stream, PassedText& text)
      : builder_(builder), stream_(stream), text_(text) {}

  bool Null() { return builder_.null(); }
  bool Bool(bool value) { return builder_.boolean(value); }
  bool Int(int value) { return builder_.number_integer(value); }
  bool Int64(std::int64_t value) { return builder_.number_integer(value); }
  bool Uint(unsigned value) { return builder_.number_unsigned(value); }
  bool Uint64(std::uint64_t value) { return builder_.number_unsigned(value); }
  bool Double(double value) { return builder_.number_float(value, {}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // is not asked for
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

// False: this is no JSON, or only the other library knows; the builder is of no use then, nor is
// the text if `passed` is not whole. What the builder throws comes through; it has to bound how
// deeply values are nested.
template <class Builder>
[[nodiscard]] bool parsed_quickly(const std::string& text, PassedText& passed, Builder& builder) {
  const bool has_surrogates = text.find("\\ud") != text.npos || text.find("\\uD") != text.npos;
  if (has_surrogates) return false;  // one of them alone is not refused here
  rapidjson::Reader reader;
  rapidjson::StringStream stream(text.c_str());
  JsonEvents<Builder> events(builder, stream, passed);
  reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, events);
  return !reader.HasParseError() && stream.Tell() == text.size();
}

}  // namespace vramscope
