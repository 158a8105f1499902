// What passes a filter, and which of them a listing can answer.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/filter.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/suppressions.h"

namespace vramscope {

struct Pattern::Compiled {
  Compiled() = default;
  ~Compiled() {
    if (is_good) regfree(&expression);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  regex_t expression{};
  bool is_good = false;
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_shared<Compiled>()) {
  const int error = regcomp(&compiled_->expression, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  compiled_->is_good = error == 0;
  if (error == 0) return;
  std::array<char, 256> reason{};
  regerror(error, &compiled_->expression, reason.data(), reason.size());
  problem_ = "'" + expression + "' is no regular expression: " + reason.data();
}

bool Pattern::is_in(const std::string& text) const {
  constexpr std::size_t kMostBytes = std::size_t{4} << 10;
  const std::string first = text.size() > kMostBytes ? text.substr(0, kMostBytes) : "";
  const char* const looked_at = first.empty() ? text.c_str() : first.c_str();
  return compiled_->is_good && regexec(&compiled_->expression, looked_at, 0, nullptr, 0) == 0;
}

// As rows have them: "main (train.cu:94)".
static void add_texts_of_rows(std::vector<std::string>& texts,
                              const std::vector<SourceFrame>& frames) {
  for (const SourceFrame& frame : frames) {
    if (frame.file.empty()) continue;
    const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
    texts.push_back(frame.function + " (" + file + ":" + std::to_string(frame.line) + ")");
  }
}

PlaceSearch::PlaceSearch(const Report& report, const std::string& expression, NameFrame name)
    : report_(report), pattern_(expression), name_(std::move(name)) {
  known_.resize(report.frames.size());
}

bool PlaceSearch::is_in(const std::vector<std::uint32_t>& frames) {
  return std::any_of(frames.begin(), frames.end(), [this](std::uint32_t frame) {
    if (frame >= known_.size()) return false;
    if (!known_[frame]) {
      std::vector<std::string> texts = texts_of_frame(report_, report_.frames[frame], name_);
      add_texts_of_rows(texts,
                        name_ ? name_(report_, report_.frames[frame]) : std::vector<SourceFrame>());
      known_[frame] = std::any_of(texts.begin(), texts.end(),
                                  [this](const std::string& text) { return pattern_.is_in(text); });
    }
    return *known_[frame];
  });
}

namespace {

// Whether a path of ranges is `given`, begins with it, or has a range of that name.
bool range_passes(std::string_view path, std::string_view given) {
  if (path == given) return true;
  for (std::size_t at = path.find(given); at != path.npos; at = path.find(given, at + 1)) {
    const std::size_t end = at + given.size();
    const bool begins = at == 0 || path[at - 1] == '/' || path[at - 1] == ':';
    if (begins && (end == path.size() || path[end] == '/')) return true;
  }
  return false;
}

// "loader 4712": the name may have spaces, the number has none.
bool thread_passes(std::string_view value, std::string_view given) {
  const std::size_t space = value.rfind(' ');
  if (value == given || space == value.npos) return value == given;
  return value.substr(0, space) == given || value.substr(space + 1) == given;
}

}  // namespace

bool Filter::is_empty() const {
  return !device && kind.empty() && owner.empty() && thread.empty() && stream.empty() &&
         range.empty() && site.empty() && min_bytes.empty() && from.empty() && to.empty();
}

bool Filter::chooses_rows() const {
  return !owner.empty() || !thread.empty() || !stream.empty() || !range.empty() || !site.empty() ||
         !min_bytes.empty();
}

std::uint64_t Filter::least_bytes() const {
  Bytes bytes;
  return read(min_bytes, bytes) ? bytes.value : 0;
}

bool Filter::has_kind(std::string_view name) const {
  if (kind.empty() || name == kind) return true;
  const std::optional<Kind> meant = kind_of(kind);
  return meant && kKindNames[static_cast<std::size_t>(*meant)] == name;
}

bool Filter::passes(Kind one, std::uint16_t of_device) const {
  if (!has_kind(kKindNames[static_cast<std::size_t>(one)])) return false;
  return !device || (has_device(one) && of_device == *device);
}

bool Filter::passes(Axis axis, std::string_view value) const {
  switch (axis) {
    case Axis::owner:
      return owner.empty() || value == owner;
    case Axis::thread:
      return thread.empty() || thread_passes(value, thread);
    case Axis::stream:
      return stream.empty() || value == stream || value == "stream " + stream;
    case Axis::range:
      return range.empty() || range_passes(value, range);
    default:
      return true;
  }
}

namespace {

struct Typed {
  const char* option;
  const std::string& given;
};

// The first of the options that was typed; "": none.
std::string first_typed(std::initializer_list<Typed> options) {
  for (const Typed& typed : options) {
    if (!typed.given.empty()) return typed.option;
  }
  return {};
}

// A trace tells what a report does not.
std::string of_a_trace(const std::string& option, const char* verb) {
  return "with a trace (run --trace FILE) vramscope " + std::string(verb) + " " + option + " can";
}

std::string cannot_filter_curves(const Filter& filter) {
  const std::string option = first_typed({{"--owner", filter.owner},
                                          {"--thread", filter.thread},
                                          {"--stream", filter.stream},
                                          {"--range", filter.range},
                                          {"--site", filter.site}});
  if (option.empty()) return {};
  return option + ": a report has its timeline by kind and device alone; " +
         of_a_trace(option, "timeline");
}

std::string cannot_filter_segments(const Filter& filter) {
  const std::string option = first_typed(
      {{"--thread", filter.thread}, {"--stream", filter.stream}, {"--range", filter.range}});
  if (option.empty()) return {};
  return option + ": a report has call stacks and times of blocks alone; " +
         of_a_trace(option, "map");
}

std::string cannot_filter_counters(const Filter& filter) {
  const std::string option = first_typed({{"--kind", filter.kind},
                                          {"--owner", filter.owner},
                                          {"--thread", filter.thread},
                                          {"--stream", filter.stream},
                                          {"--range", filter.range},
                                          {"--site", filter.site},
                                          {"--min-bytes", filter.min_bytes},
                                          {"--from", filter.from},
                                          {"--to", filter.to}});
  if (option.empty()) return {};
  return option + ": counters are of a whole device or of the host; stats takes --device, and " +
         (option == "--from" || option == "--to" ? "trace " : "sites, peak and owners ") + option;
}

std::string cannot_filter_rows(const Filter& filter, const FilterUse& use) {
  const std::string time = first_typed({{"--from", filter.from}, {"--to", filter.to}});
  if (!time.empty()) {
    return time +
           ": a report has no single allocations and their times; a trace has: vramscope "
           "run --trace FILE, then vramscope trace " +
           time + " TIME FILE";
  }
  const struct {
    Axis axis;
    const std::string& given;
    const char* name;
  } axes[] = {{Axis::thread, filter.thread, "thread"},
              {Axis::stream, filter.stream, "stream"},
              {Axis::range, filter.range, "range"}};
  for (const auto& [axis, given, name] : axes) {
    if (given.empty() || use.axis == axis) continue;
    const std::string option = name;
    return "--" + option + ": a report has sums by " + option + " only: vramscope owners --by " +
           option + "; with a trace (run --trace) vramscope trace --" + option +
           " tells its places apart";
  }
  if (use.axis && *use.axis != Axis::owner && !filter.owner.empty()) {
    return "--owner: a report has sums by owner alone, or by another axis alone";
  }
  if (use.axis && !filter.site.empty()) {
    return "--site: sums by owner or another axis know no call stacks; vramscope sites has them";
  }
  return {};
}

}  // namespace

std::string cannot_filter(const Filter& filter, const FilterUse& use) {
  switch (use.subject) {
    case Subject::rows:
      return cannot_filter_rows(filter, use);
    case Subject::segments:
      return cannot_filter_segments(filter);
    case Subject::refusals:
      return filter.stream.empty() ? ""
                                   : "--stream: which stream a refused allocation was for is not "
                                     "known; oom takes --thread, --range and --site";
    case Subject::curves:
      return cannot_filter_curves(filter);
    case Subject::counters:
      return cannot_filter_counters(filter);
  }
  return {};
}

std::string filter_text(const Filter& filter) {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : " ") + std::string(option) + " " + value;
  };
  add("--device", filter.device ? std::to_string(*filter.device) : "");
  add("--kind", filter.kind);
  const auto word = [](const std::string& value) {
    return value.empty() ? value : shell_word(value);
  };
  add("--owner", word(filter.owner));
  add("--thread", word(filter.thread));
  add("--stream", word(filter.stream));
  add("--range", word(filter.range));
  add("--site", word(filter.site));
  add("--min-bytes", filter.min_bytes);
  add("--from", filter.from);
  add("--to", filter.to);
  return text;
}

}  // namespace vramscope
