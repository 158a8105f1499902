// JsonReader takes parsed JSON apart by the fields of the report. Absent fields keep their
// defaults, unknown fields are noted, and wrong types are refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/report/fields.h"
#include "reporter/report/json_tree.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/references.h"
#include "reporter/report/unknown.h"

namespace vramscope {

// Lists that may be long, whose elements leave the parser's document as soon as they are read, and
// the names of everything unknown.
struct Elements {
  std::vector<DeviceReport> devices;
  std::vector<SegmentFacts> segments, registrations;
  std::vector<BlockFacts> blocks;
  std::vector<FrameFact> frames;
  std::vector<Site> sites;
  std::vector<AxisEntry> axes;
  std::vector<MergedProcess> processes;
  Unknown unknown;

  // Returns the list of these elements, or nullptr for elements that stay in the document.
  template <class T>
  std::vector<T>* read_before(std::string_view, std::vector<T>&) {
    return nullptr;
  }
  std::vector<DeviceReport>* read_before(std::string_view, std::vector<DeviceReport>&) {
    return &devices;
  }
  std::vector<SegmentFacts>* read_before(std::string_view name, std::vector<SegmentFacts>&) {
    return name == "registrations" ? &registrations : &segments;
  }
  std::vector<BlockFacts>* read_before(std::string_view, std::vector<BlockFacts>&) {
    return &blocks;
  }
  std::vector<FrameFact>* read_before(std::string_view, std::vector<FrameFact>&) { return &frames; }
  std::vector<Site>* read_before(std::string_view, std::vector<Site>&) { return &sites; }
  std::vector<AxisEntry>* read_before(std::string_view, std::vector<AxisEntry>&) { return &axes; }
  std::vector<MergedProcess>* read_before(std::string_view, std::vector<MergedProcess>&) {
    return &processes;
  }
};

// The position of a value: "devices[0].segments[1].kind". It becomes text only in an error message,
// since a report has millions of values. The enclosing path must live as long.
class FieldPath {
 public:
  FieldPath() = default;  // the document itself
  FieldPath(const FieldPath& in, std::string_view name) : in_(&in), name_(name) {}
  FieldPath(const FieldPath& in, std::size_t index) : in_(&in), index_(index) {}

  [[nodiscard]] std::string text() const {
    const std::string before = in_ == nullptr ? "" : in_->text();
    if (index_ != kNoIndex) return before + "[" + std::to_string(index_) + "]";
    return before.empty() ? std::string(name_) : before + "." + std::string(name_);
  }

 private:
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  const FieldPath* in_ = nullptr;
  std::string_view name_ = {};
  std::size_t index_ = kNoIndex;
};

[[noreturn]] inline void refuse(const FieldPath& field, std::string_view expected) {
  throw FieldProblem{field.text(), "expected " + std::string(expected)};
}

// Takes one JSON object apart by the names of fields.h. A field in the order of fields.h is found
// at once.
class JsonReader {
 public:
  JsonReader(const JsonValue& object, const FieldPath& path, Elements& elements)
      : object_(object), next_(object), path_(path), elements_(elements) {
    if (!object.is(Type::object)) refuse(path_, "object");
    next_ = object_.first();
  }

  template <class T>
  void operator()(std::string_view name, T&& value) {
    if (const JsonValue found = find(name); found.is_there()) take(name, found, value);
  }
  template <class T>
  void required(std::string_view name, T&& value) {
    const JsonValue found = find(name);
    if (!found.is_there()) throw FieldProblem{path_of(name).text(), "is missing"};
    take(name, found, value);
  }
  void fixed(std::string_view name, std::string_view) { known_ += find(name).is_there() ? 1 : 0; }
  void index(std::string_view name) { fixed(name, {}); }
  template <class T>
  void if_there(std::string_view name, std::optional<T>& value) {
    (*this)(name, value);
  }
  template <class T>
  void elements(std::string_view name, std::vector<T>& values) {
    const JsonValue found = find(name);
    if (!found.is_there()) return;
    if (std::vector<T>* read = elements_.read_before(name, values)) {
      ++known_;
      check_list(found, path_of(name));
      if (found.first().is_there()) refuse(path_of(name), "only objects");
      values = std::exchange(*read, {});
    } else {
      take(name, found, values);
    }
  }

  // Reads every field of `value`.
  template <class Struct>
  void read(Struct& value) {
    visit_fields(value, *this);
    if (object_.size() == known_) return;
    Names known;
    visit_fields(value, known);
    for (JsonValue member = object_.first(); member.is_there(); member = member.next()) {
      const std::string_view name = member.name();
      if (!known.names.contains(name)) elements_.unknown.field(path_of(name).text());
    }
  }

  static void check_schema(const JsonValue& json, const FieldPath& path) {
    Elements none;
    JsonReader schema(json, path, none);
    std::string name;
    int version = 0;
    schema.required("name", name);
    schema.required("version", version);
    if (name != kSchemaName) {
      refuse(FieldPath(path, "name"), json_string(kSchemaName) + ", found " + json_string(name));
    }
    const std::string newest = std::to_string(kReportVersion);
    if (version > kReportVersion) {
      throw FieldProblem{FieldPath(path, "version").text(),
                         std::to_string(version) + " is newer than " + newest +
                             ", the newest that this vramscope reads"};
    }
    if (version != kReportVersion) {
      refuse(FieldPath(path, "version"), newest + ", found " + std::to_string(version));
    }
  }

 private:
  using Type = JsonTree::Type;

  // Another archive for fields.h, which collects the names of all fields.
  struct Names {
    template <class T>
    void operator()(std::string_view name, T&&) {
      names.emplace(name);
    }
    template <class T>
    void required(std::string_view name, T&&) {
      names.emplace(name);
    }
    template <class T>
    void elements(std::string_view name, std::vector<T>&) {
      names.emplace(name);
    }
    void fixed(std::string_view name, std::string_view) { names.emplace(name); }
    void index(std::string_view name) { names.emplace(name); }
    template <class T>
    void if_there(std::string_view name, std::optional<T>&) {
      names.emplace(name);
    }

    std::set<std::string, std::less<>> names;
  };

  [[nodiscard]] FieldPath path_of(std::string_view name) const { return {path_, name}; }
  static void check_list(const JsonValue& json, const FieldPath& path) {
    if (!json.is(Type::list)) refuse(path, "array");
  }
  // Returns the member with that name, if the object has one.
  JsonValue find(std::string_view name) {
    JsonValue found = next_;
    if (!found.is_there() || found.name() != name) {
      found = object_.first();
      while (found.is_there() && found.name() != name) found = found.next();
    }
    if (found.is_there()) next_ = found.next();
    return found;
  }
  template <class T>
  void take(std::string_view name, const JsonValue& found, T&& value) {
    ++known_;
    get(found, path_of(name), value);
  }

  template <std::integral T>
  static void get(const JsonValue& json, const FieldPath& path, T& value) {
    constexpr T kMax = std::numeric_limits<T>::max();
    constexpr T kMin = std::numeric_limits<T>::min();
    const auto expected = [&] {
      refuse(path, "integer from " + std::to_string(kMin) + " to " + std::to_string(kMax));
    };
    if (json.is(Type::natural)) {
      if (!std::in_range<T>(json.natural())) expected();
      value = static_cast<T>(json.natural());
    } else if (json.is(Type::negative)) {
      if (!std::in_range<T>(json.negative())) expected();
      value = static_cast<T>(json.negative());
    } else {
      expected();
    }
  }
  static void get(const JsonValue& json, const FieldPath& path, bool& value) {
    if (!json.is(Type::yes) && !json.is(Type::no)) refuse(path, "true or false");
    value = json.is(Type::yes);
  }
  static void get(const JsonValue& json, const FieldPath& path, std::string& value) {
    if (!json.is(Type::text)) refuse(path, "string");
    value = json.text();
  }
  template <std::size_t N>
  static std::optional<std::size_t> found_among(const JsonValue& json,
                                                const std::array<std::string_view, N>& names) {
    if (!json.is(Type::text)) return std::nullopt;
    const auto found = std::find(names.begin(), names.end(), json.text());
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }
  // Reads a word of a fixed set that will never grow.
  template <std::size_t N>
  static std::size_t name_among(const JsonValue& json, const FieldPath& path,
                                const std::array<std::string_view, N>& names) {
    if (const auto found = found_among(json, names)) return *found;
    std::string expected = "one of";
    for (const std::string_view name : names) expected.append(" \"").append(name).append("\"");
    refuse(path, expected);
  }
  // Reads a word of a set that may grow. An element with an unknown word is left out.
  template <class Word, std::size_t N>
  void get_word(const JsonValue& json, const FieldPath& path, Word& word,
                const std::array<std::string_view, N>& names) {
    if (const auto found = found_among(json, names)) {
      word = static_cast<Word>(*found);
    } else {
      std::string text;
      get(json, path, text);
      elements_.unknown.word(path.text(), text);
    }
  }
  void get(const JsonValue& json, const FieldPath& path, Kind& kind) {
    get_word(json, path, kind, kKindNames);
  }
  void get(const JsonValue& json, const FieldPath& path, Axis& axis) {
    get_word(json, path, axis, kAxisNames);
  }
  void get(const JsonValue& json, const FieldPath& path, Disagreement& what) {
    get_word(json, path, what, kDisagreementNames);
  }
  static void get(const JsonValue& json, const FieldPath& path, BlockState& state) {
    state = static_cast<BlockState>(name_among(json, path, kBlockStateNames));
  }
  static void get(const JsonValue& json, const FieldPath& path, const Choice<bool>& choice) {
    choice.value = name_among(json, path, std::array{choice.yes, choice.no}) == 0;
  }
  template <class T>
  static void get(const JsonValue& json, const FieldPath& path, const OrNull<T>& number) {
    if (json.is(Type::null)) {
      number.value = number.none;
      return;
    }
    get(json, path, number.value);
    if constexpr (std::is_signed_v<T>) {
      if (number.value < 0) refuse(path, "null or a number that is not negative");
    }
  }
  template <class T>
  void get(const JsonValue& json, const FieldPath& path, std::optional<T>& value) {
    value.reset();
    if (json.is(Type::null)) return;
    T present{};  // avoids a false warning of g++ 14 that emplace() destroys an uninitialized value
    get(json, path, present);
    value = std::move(present);
  }
  template <class T>
  static void get(const JsonValue& json, const FieldPath& path, const Ordinal<T>& ordinal) {
    get(json, path, ordinal.value);
    if (ordinal.value >= kMaxDevices) refuse(path, "number below " + std::to_string(kMaxDevices));
  }
  template <class Strings>
  static void get(const JsonValue& json, const FieldPath& path,
                  const Dictionary<Strings>& dictionary) {
    if (!json.is(Type::object)) refuse(path, "object");
    dictionary.value.clear();
    for (JsonValue text = json.first(); text.is_there(); text = text.next()) {
      const std::string_view name = text.name();
      get(text, FieldPath(path, name), dictionary.value.emplace_back(name, "").second);
    }
  }
  template <class Owner>
  void get(const JsonValue& json, const FieldPath& path, const FlatStatistics<Owner>& flat) {
    if (!json.is(Type::object)) refuse(path, "object");
    flat.value.used = json.first().is_there();
    if (!flat.value.used) return;
    std::vector<std::pair<std::string_view, JsonValue>> found;
    for (JsonValue number = json.first(); number.is_there(); number = number.next()) {
      found.emplace_back(number.name(), number);
    }
    std::ranges::stable_sort(found, {}, &decltype(found)::value_type::first);
    each_counter(flat.value.statistics, [&](const std::string& key, std::int64_t& value) {
      const auto at = std::ranges::lower_bound(found, key, {}, &decltype(found)::value_type::first);
      if (at != found.end() && at->first == key) get(at->second, FieldPath(path, key), value);
    });
    const FlatStats known = memory_stats(flat.value);
    for (const auto& [key, number] : found) {
      const auto at = std::ranges::lower_bound(known, key, {}, &FlatStats::value_type::first);
      if (at == known.end() || at->first != key) {
        elements_.unknown.field(FieldPath(path, key).text());
      }
    }
  }
  static void get(const JsonValue& json, const FieldPath& path, const SchemaMark&) {
    check_schema(json, path);
  }
  static void get(const JsonValue& json, const FieldPath& path, Histogram& histogram) {
    if (!json.is(Type::list) || json.size() > histogram.size()) {
      refuse(path, "array of at most " + std::to_string(histogram.size()) + " numbers");
    }
    histogram = {};
    std::size_t i = 0;
    for (JsonValue number = json.first(); number.is_there(); number = number.next()) {
      get(number, FieldPath(path, i), histogram[i]);
      ++i;
    }
  }
  template <class T>
  void get(const JsonValue& json, const FieldPath& path, std::vector<T>& values) {
    check_list(json, path);
    values.clear();
    values.reserve(json.size());
    std::size_t i = 0;
    for (JsonValue value = json.first(); value.is_there(); value = value.next()) {
      get(value, FieldPath(path, i++), values.emplace_back());
      if (elements_.unknown.leave_out()) values.pop_back();
    }
  }
  template <class Struct>
  requires requires(Struct& value, JsonReader& f) { visit_fields(value, f); }
  void get(const JsonValue& json, const FieldPath& path, Struct& value) {
    JsonReader fields(json, path, elements_);
    fields.read(value);
  }

  JsonValue object_;
  JsonValue next_;  // the member behind the last one that was found
  FieldPath path_;
  Elements& elements_;
  std::size_t known_ = 0;  // number of members that were read
};

}  // namespace vramscope
