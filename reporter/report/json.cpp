// Reads reports with the JSON library, one element at a time, and joins writer and file.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "reporter/report/fields.h"
#include "reporter/report/input_file.h"
#include "reporter/report/json_reader.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/references.h"
#include "reporter/report/write_signals.h"

namespace vramscope {

namespace {

using Json = nlohmann::json;

// Watches the parser: knows where it is, and takes finished elements out of its document.
class Watcher {
 public:
  static constexpr int kMaxDepth = 32;  // ours is 8

  // Whether the parser keeps the value.
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    const auto level = static_cast<std::size_t>(depth);
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        if (depth >= kMaxDepth) {
          throw FieldProblem{place(kMaxDepth, Naming::exact), "is nested too deeply"};
        }
        levels_.resize(level + 1);
        levels_[level] = {.is_list = event == Event::array_start, .next = 0, .key = {}};
        return true;
      case Event::key:
        levels_[level - 1].key = parsed.get<std::string>();
        return true;
      case Event::object_end:
        if (take(parsed, level)) {
          ++levels_[level - 1].next;
          return false;
        }
        [[fallthrough]];
      case Event::array_end:
      case Event::value:
        if (depth > 0) ++levels_[level - 1].next;
        return true;
    }
    return true;
  }

  Report finish(const Json& document) {
    Report report;
    JsonReader<Json> fields(document, "", elements_);
    visit_fields(report, fields);
    for (FunctionFacts& function : report.functions) {
      function.totals.time.count = function.totals.calls;
    }
    check_references(report);
    return report;
  }

 private:
  struct Level {  // an open list or object
    bool is_list;
    std::size_t next;  // index of the element being read
    std::string key;   // of the member being read
  };
  enum class Naming { exact, any_element };

  // Where the value inside the first `depth` levels is: "devices[0].segments[1]".
  [[nodiscard]] std::string place(std::size_t depth, Naming naming) const {
    std::string text;
    for (std::size_t i = 0; i < std::min(depth, levels_.size()); ++i) {
      const Level& level = levels_[i];
      if (level.is_list) {
        text += naming == Naming::exact ? "[" + std::to_string(level.next) + "]" : "[]";
      } else {
        text += (text.empty() ? "" : ".") + level.key;
      }
    }
    return text;
  }

  template <class T>
  void append(std::vector<T>& list, const Json& json, std::size_t depth) {
    JsonReader<Json> fields(json, place(depth, Naming::exact), elements_);
    T value;
    visit_fields(value, fields);
    list.push_back(std::move(value));
  }

  // Takes a finished object of one of the long lists; false: it is something else.
  bool take(const Json& json, std::size_t depth) {
    if (depth == 1 && levels_[0].key == "schema") {  // another version has other fields: say that
      Elements none;
      Report report;
      JsonReader<Json>(Json{{"schema", json}}, "", none)("schema", SchemaMark{});
      return false;
    }
    if (depth < 2 || !levels_[depth - 1].is_list) return false;
    const std::string name = place(depth, Naming::any_element);
    if (name == "devices[].segments[].blocks[]" || name == "host.segments[].blocks[]" ||
        name == "host.registrations[].blocks[]") {
      append(elements_.blocks, json, depth);
    } else if (name == "devices[].segments[]" || name == "host.segments[]") {
      append(elements_.segments, json, depth);
    } else if (name == "host.registrations[]") {
      append(elements_.registrations, json, depth);
    } else if (name == "devices[]") {
      append(elements_.devices, json, depth);
    } else if (name == "frames[]") {
      append(elements_.frames, json, depth);
    } else if (name == "sites[]") {
      append(elements_.sites, json, depth);
    } else {
      return false;
    }
    return true;
  }

  std::vector<Level> levels_;
  Elements elements_;
};

// Text from a hostile file on one line of bearable length.
std::string tamed(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  const std::string safe = json_string(text.substr(0, kLongest));
  return safe.substr(1, safe.size() - 2);
}

// The library's text without its own name and numbers.
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

Report parse(const std::string& text) {
  Watcher watcher;
  const Json document = Json::parse(text, std::ref(watcher));
  return watcher.finish(document);
}

FileError failure(const std::string& path, const std::string& what) { return {path + ": " + what}; }

}  // namespace

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::variant<Report, FileError> read_report(const std::string& path) noexcept {
  try {
    const InputFile file = read_file(path);
    if (!file.problem.empty()) return failure(path, file.problem);
    return parse(file.text);
  } catch (const FieldProblem& problem) {
    return failure(path, "field " + tamed(problem.field) + ": " + tamed(problem.what));
  } catch (const Json::parse_error& error) {
    return failure(path, "byte " + std::to_string(error.byte) + ": " + reason_of(error));
  } catch (const std::bad_alloc&) {
    return FileError{"out of memory while reading a report"};
  } catch (const std::exception& error) {
    return failure(path, reason_of(error));
  }
}

std::variant<std::string, FileError> write_report(const Report& report,
                                                  const std::string& path) noexcept {
  const int kept = errno;
  const HeldWriteSignals held;
  std::variant<std::string, FileError> result;
  try {
    OutputFile file(path);
    file.open();
    if (file.error() == 0) write_json(report, file);
    std::string name = file.publish();
    if (file.error() == 0) {
      result = std::move(name);
    } else {
      result = FileError{"cannot write '" + path +
                         "': " + std::generic_category().message(file.error())};
    }
  } catch (...) {
    result = FileError{"out of memory while writing a report"};
  }
  errno = kept;
  return result;
}

}  // namespace vramscope
