// Two archives for fields.h. Numbers are groups of seven bits, the lowest first.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/site_code.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "reporter/report/fields.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

constexpr unsigned kGroup = 7;
constexpr std::uint64_t kMore = std::uint64_t{1} << kGroup;

class PackedWriter {
 public:
  template <class T>
  void operator()(std::string_view, const T& value) {
    put(value);
  }
  template <class T>
  void required(std::string_view, const T& value) {
    put(value);
  }
  template <class T>
  void if_there(std::string_view, const std::optional<T>& value) {
    put(value);
  }
  void index(std::string_view) {}
  std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint64_t number) {
    for (; number >= kMore; number >>= kGroup) bytes_ += static_cast<char>(number | kMore);
    bytes_ += static_cast<char>(number);
  }
  template <class T>
  requires std::unsigned_integral<T> || std::is_enum_v<T>
  void put(T value) { put(static_cast<std::uint64_t>(value)); }
  template <std::signed_integral T>
  void put(T value) {
    const auto wide = static_cast<std::int64_t>(value);  // small ones stay short: 0, -1, 1, -2, ...
    put(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
  }
  template <class T>
  void put(const Ordinal<T>& ordinal) {
    put(ordinal.value);
  }
  template <class T>
  void put(const OrNull<T>& number) {
    put(number.value);
  }
  template <class Strings>
  void put(const Dictionary<Strings>& dictionary) {
    put(dictionary.value);
  }
  void put(const std::pair<std::string, std::string>& texts) {
    put(texts.first);
    put(texts.second);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Struct>
  requires requires(const Struct& value, PackedWriter& f) { visit_fields(value, f); }
  void put(const Struct& value) { visit_fields(value, *this); }

  std::string bytes_;
};

class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(std::string_view, T&& value) {
    get(value);
  }
  template <class T>
  void required(std::string_view, T&& value) {
    get(value);
  }
  template <class T>
  void if_there(std::string_view, std::optional<T>& value) {
    get(value);
  }
  void index(std::string_view) {}

 private:
  std::uint64_t number() {
    std::uint64_t sum = 0;
    for (unsigned shift = 0; !bytes_.empty(); shift += kGroup) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      sum |= (byte & (kMore - 1)) << shift;
      if (byte < kMore) break;
    }
    return sum;
  }
  template <class T>
  requires std::unsigned_integral<T> || std::is_enum_v<T>
  void get(T& value) { value = static_cast<T>(number()); }
  template <std::signed_integral T>
  void get(T& value) {
    const std::uint64_t zigzag = number();
    value = static_cast<T>(static_cast<std::int64_t>(zigzag >> 1 ^ (0 - (zigzag & 1))));
  }
  template <class T>
  void get(const Ordinal<T>& ordinal) {
    get(ordinal.value);
  }
  template <class T>
  void get(const OrNull<T>& number) {
    get(number.value);
  }
  template <class Strings>
  void get(const Dictionary<Strings>& dictionary) {
    get(dictionary.value);
  }
  void get(std::pair<std::string, std::string>& texts) {
    get(texts.first);
    get(texts.second);
  }
  void get(std::string& text) {
    const std::uint64_t size = number();
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(number());
    for (T& value : values) get(value);
  }
  template <class T>
  void get(std::optional<T>& value) {
    if (number() != 0) get(value.emplace());
  }
  template <class Struct>
  requires requires(Struct& value, PackedReader& f) { visit_fields(value, f); }
  void get(Struct& value) { visit_fields(value, *this); }

  std::string_view bytes_;
};

}  // namespace

std::string encoded(const Site& site) {
  PackedWriter writer;
  visit_fields(site, writer);
  return writer.take();
}

std::string encoded(const MergedProcess& process) {
  PackedWriter writer;
  visit_fields(process, writer);
  return writer.take();
}

Site decoded(std::string_view bytes) {
  Site site;
  PackedReader reader(bytes);
  visit_fields(site, reader);
  return site;
}

MergedProcess decoded_process(std::string_view bytes) {
  MergedProcess process;
  PackedReader reader(bytes);
  visit_fields(process, reader);
  return process;
}

}  // namespace vramscope
