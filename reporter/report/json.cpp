// Reads reports with JSON libraries, one element at a time, and joins writer and file.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "allocator/base/kept_errno.h"
#include "reporter/report/fields.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/write_signals.h"
#include "reporter/report/json_events.h"
#include "reporter/report/json_line.h"
#include "reporter/report/json_reader.h"
#include "reporter/report/json_tree.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/references.h"
#include "reporter/report/report.h"

namespace vramscope {

namespace {

using Json = nlohmann::json;

// Returns text from a hostile file on one line of limited length. Quotes do no harm.
std::string tamed(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  const std::string safe = json_string(text.substr(0, kLongest));
  std::string result;
  for (std::size_t i = 1; i + 1 < safe.size(); ++i) {
    const bool is_escape = safe[i] == '\\';
    if (!is_escape || safe[i + 1] != '"') result += safe[i];
    if (is_escape) result += safe[++i];
  }
  return result;
}

// Returns the library's message without its own name and numbers.
std::string reason_of(const std::exception& error) {
  std::string_view text = error.what();
  const auto skip = [&text](std::string_view mark) {
    const std::size_t found = text.find(mark);
    if (found != std::string_view::npos) text.remove_prefix(found + mark.size());
  };
  skip("] ");
  if (text.starts_with("parse error")) skip(": ");
  return tamed(text);
}

// The text is not JSON, at this byte.
struct SyntaxProblem {
  std::size_t byte;
  std::string what;
  bool is_cut_off = false;  // the file ends before the report does
};

// Receives the parser's events and builds small trees from them. An element of a long list leaves
// its tree as soon as it is complete. (The library's own values take an allocation each.)
class ReportBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return add(tree_.add(Type::null)); }
  bool boolean(bool value) { return add(tree_.add(value ? Type::yes : Type::no)); }
  bool number_integer(number_integer_t value) {
    return add(tree_.add(Type::negative, static_cast<std::uint64_t>(value)));
  }
  bool number_unsigned(number_unsigned_t value) { return add(tree_.add(Type::natural, value)); }
  bool number_float(number_float_t, std::string_view) { return add(tree_.add(Type::real)); }
  bool string(std::string_view value) { return add(tree_.add_text(value)); }
  bool binary(binary_t&) { return true; }  // only occurs in other formats than JSON
  bool key(std::string_view name) {
    levels_[depth_ - 1].key = name;
    return true;
  }
  bool start_object(std::size_t) { return open(Type::object); }
  bool start_array(std::size_t) { return open(Type::list); }
  bool end_object() {
    const Level& level = levels_[--depth_];
    if (!take(tree_.value(level.node))) return add(level.node);
    tree_.forget(level.before);
    ++levels_[depth_ - 1].next;
    return true;
  }
  bool end_array() { return add(levels_[--depth_].node); }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) {
    throw SyntaxProblem{byte, reason_of(error)};
  }

  [[nodiscard]] Report finish() {
    Report report;
    JsonReader fields(tree_.value(document_), {}, elements_);
    fields.read(report);
    elements_.unknown.put_at("");
    report.unknown = std::move(elements_.unknown).names();
    for (FunctionFacts& function : report.functions) {
      function.totals.time.count = function.totals.calls;
    }
    check_references(report);
    return report;
  }

 private:
  static constexpr std::size_t kMaxDepth = 32;  // ours has 8

  using Type = JsonTree::Type;

  struct Level {  // an open list or object
    JsonTree::Node node = 0;
    bool is_list = false;
    JsonTree::Mark before;
    std::size_t next = 0;  // index of the element being read
    std::string key;       // of the member being read
  };

  bool open(Type type) {
    if (depth_ >= kMaxDepth) throw FieldProblem{place(), "is nested too deeply"};
    Level& level = levels_[depth_++];
    level.before = tree_.mark();
    level.node = tree_.add(type);
    level.is_list = type == Type::list;
    level.next = 0;
    level.key.clear();
    return true;
  }
  bool add(JsonTree::Node value) {
    if (depth_ == 0) {
      document_ = value;
      return true;
    }
    Level& level = levels_[depth_ - 1];
    if (level.is_list) {
      tree_.append(level.node, value);
      ++level.next;
    } else {
      tree_.append(level.node, level.key, value);
    }
    return true;
  }
  [[nodiscard]] std::span<const Level> levels() const { return {levels_.data(), depth_}; }

  // Returns the position of the value being read: "devices[0].segments[1]". It may be long, so it
  // is for errors only.
  [[nodiscard]] std::string place() const {
    std::string text;
    for (const Level& level : levels()) {
      if (level.is_list) {
        text += "[" + std::to_string(level.next) + "]";
      } else {
        text += (text.empty() ? "" : ".") + level.key;
      }
    }
    return text;
  }

  // Returns whether the value being read is at `pattern`: "devices[].segments[]".
  [[nodiscard]] bool is_at(std::string_view pattern) const {
    const auto skip = [&pattern](std::string_view part) {
      const bool there = pattern.starts_with(part);
      if (there) pattern.remove_prefix(part.size());
      return there;
    };
    bool first = true;
    for (const Level& level : levels()) {
      const bool is_list = level.is_list;
      if (!first && !is_list && !skip(".")) return false;
      if (!skip(is_list ? std::string_view("[]") : level.key)) return false;
      first = false;
    }
    return pattern.empty();
  }

  template <class T>
  bool append(std::vector<T>& list, const JsonValue& json) try {
    JsonReader fields(json, {}, elements_);
    fields.read(list.emplace_back());
    if (elements_.unknown.leave_out()) list.pop_back();
    if (elements_.unknown.found()) elements_.unknown.put_at(place());
    return true;
  } catch (FieldProblem& problem) {
    problem.field = place() + "." + problem.field;
    throw;
  }

  // Takes a finished object of one of the long lists. Returns false for any other object.
  bool take(const JsonValue& json) {
    if (depth_ == 1 && is_at("schema")) {  // another version has other fields, so that error comes
                                           // first
      JsonReader::check_schema(json, FieldPath({}, "schema"));
      return false;
    }
    if (depth_ == 0 || !levels().back().is_list) return false;
    const bool in_list = depth_ == 2;  // in a list of the document itself, as most objects are
    const std::string& list = levels_.front().key;
    if (in_list && list == "sites") return append(elements_.sites, json);
    if (in_list && list == "frames") return append(elements_.frames, json);
    if (in_list && list == "axes") return append(elements_.axes, json);
    if (in_list && list == "processes") return append(elements_.processes, json);
    if (list == "sites" || list == "processes") return false;  // a part of an element
    if (is_at("devices[].segments[].blocks[]") || is_at("host.segments[].blocks[]") ||
        is_at("host.registrations[].blocks[]")) {
      return append(elements_.blocks, json);
    }
    if (is_at("devices[].segments[]") || is_at("host.segments[]")) {
      return append(elements_.segments, json);
    }
    if (is_at("host.registrations[]")) return append(elements_.registrations, json);
    return is_at("devices[]") && append(elements_.devices, json);
  }

  std::array<Level, kMaxDepth> levels_;
  std::size_t depth_ = 0;
  Elements elements_;
  JsonTree tree_;
  JsonTree::Node document_ = 0;
};

// Parses with the library that describes errors.
Report parse_carefully(const std::string& text) try {
  ReportBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.finish();
} catch (SyntaxProblem& problem) {
  problem.is_cut_off = problem.byte > text.size();
  throw;
}

Report of_file(Report report, const InputFile& file) {
  report.is_own_file = file.is_own;
  return report;
}

FileError failure(const std::string& path, const std::string& what) { return {path + ": " + what}; }

}  // namespace

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::vector<JsonMember>> members_of_line(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  std::vector<JsonMember> members;
  for (const auto& [name, value] : object.items()) {
    JsonMember& member = members.emplace_back(JsonMember{.name = name, .value = {}});
    if (value.is_boolean()) member.value = value.get<bool>();
    if (value.is_number_unsigned()) member.value = value.get<std::uint64_t>();
    if (value.is_string()) member.value = value.get<std::string>();
  }
  return members;
}

std::variant<Report, FileError> read_report(const std::string& path) noexcept {
  try {
    InputFile file = read_file(path, wanted_report());
    if (!file.problem.empty()) return failure(path, file.problem);
    PassedText passed(file.text, file.is_regular);
    if (ReportBuilder builder; parsed_quickly(file.text, passed, builder)) {
      return of_file(builder.finish(), file);
    }
    if (!passed.is_whole()) file = read_file(path, wanted_report());
    if (!file.problem.empty()) return failure(path, file.problem);
    return of_file(parse_carefully(file.text), file);
  } catch (const FieldProblem& problem) {
    if (problem.field == "schema" && problem.what == "is missing") {
      return failure(path, "field schema: is missing, so it is no report of vramscope");
    }
    return failure(path, "field " + tamed(problem.field) + ": " + tamed(problem.what));
  } catch (const SyntaxProblem& problem) {
    return failure(path, problem.is_cut_off
                             ? ends_early_at(problem.byte - 1)
                             : "byte " + std::to_string(problem.byte) + ": " + problem.what);
  } catch (const std::bad_alloc&) {
    return FileError{"out of memory while reading a report"};
  } catch (const std::exception& error) {
    return failure(path, reason_of(error));
  }
}

namespace {

struct Writing {
  bool reads_back = false;          // check before the file gets its name
  FileIdentity* written = nullptr;  // receives the file's identity, unless null
};

// Is thrown if the report that was written cannot be read.
struct Unreadable {
  std::string reason;
};

void read_back(const std::string& path) {
  const auto read = read_report(path);
  const auto* const error = std::get_if<FileError>(&read);
  if (error == nullptr) return;
  const std::string begin = path + ": ";
  const bool has_path = error->message.starts_with(begin);
  throw Unreadable{error->message.substr(has_path ? begin.size() : 0)};
}

// Returns the name, or an errno.
std::variant<std::string, int> write_once(const Report& report, const SiteList* sites,
                                          const std::string& path, const Writing& how) try {
  OutputFile file(path);
  file.open();
  if (file.error() == 0) write_json(report, sites, file);
  if (how.reads_back) file.finish();
  if (how.reads_back && file.error() == 0) read_back(file.temporary_name());
  std::string name = file.publish();
  if (file.error() != 0) return file.error();
  if (how.written != nullptr) *how.written = file.identity();
  return name;
} catch (const std::system_error& error) {  // from reading `sites`
  return error.code().value();
}

std::variant<std::string, FileError> write_with(const Report& report, const SiteList* sites,
                                                const std::string& path,
                                                const Writing& how) noexcept {
  const KeptErrno kept;
  const HeldWriteSignals held;
  try {
    constexpr int kAttempts = 3;
    int error = EBADF;  // the program closed our descriptor: try again
    for (int attempt = 0; attempt < kAttempts && error == EBADF; ++attempt) {
      auto written = write_once(report, sites, path, how);
      if (auto* name = std::get_if<std::string>(&written)) return std::move(*name);
      error = std::get<int>(written);
    }
    return FileError{"cannot write '" + path + "': " + std::generic_category().message(error)};
  } catch (const Unreadable& found) {
    return FileError{found.reason};
  } catch (...) {
    return FileError{};  // there may be no memory for a message
  }
}

}  // namespace

std::variant<std::string, FileError> write_report(const Report& report,
                                                  const std::string& path) noexcept {
  return write_with(report, nullptr, path, {});
}

std::variant<std::string, FileError> write_readable_report(const Report& report,
                                                           const std::string& path) noexcept {
  return write_with(report, nullptr, path, {.reads_back = true});
}

std::variant<std::string, FileError> write_report(const Report& report, const SiteList& sites,
                                                  const std::string& path,
                                                  FileIdentity* written) noexcept {
  return write_with(report, &sites, path, {.written = written});
}

}  // namespace vramscope
