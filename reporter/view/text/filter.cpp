// What passes a filter, and which of them a listing can answer.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/filter.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/report/report.h"
#include "reporter/report/symbols.h"
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

// The function, the file, and both as rows have them: "main (train.cu:94)".
static void add_texts(std::vector<std::string>& texts, const std::vector<SourceFrame>& frames,
                      bool with_types) {
  for (const SourceFrame& frame : frames) {
    if (with_types) texts.push_back(frame.function);
    const std::string function = without_signature(frame.function);
    texts.push_back(function);
    if (frame.file.empty()) continue;
    texts.push_back(frame.file);
    const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
    texts.push_back(function + " (" + file + ":" + std::to_string(frame.line) + ")");
  }
}

PlaceSearch::PlaceSearch(const Report& report, const std::string& expression, NameFrame name)
    : report_(report),
      pattern_(expression),
      name_(std::move(name)),
      looks_at_types_(expression.find('(') != expression.npos) {
  known_.resize(report.frames.size());
}

bool PlaceSearch::is_in(const std::vector<std::uint32_t>& frames) {
  return std::any_of(frames.begin(), frames.end(), [this](std::uint32_t frame) {
    if (frame >= known_.size()) return false;
    if (!known_[frame]) {
      std::vector<std::string> texts = texts_of_frame(report_, report_.frames[frame], NameFrame());
      if (name_) add_texts(texts, name_(report_, report_.frames[frame]), looks_at_types_);
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

using Option = std::string Filter::*;

// Every option that takes a text; --device takes a number.
constexpr struct {
  Option option;
  const char* name;
} kOptions[] = {
    {&Filter::kind, "--kind"},           {&Filter::owner, "--owner"}, {&Filter::thread, "--thread"},
    {&Filter::stream, "--stream"},       {&Filter::range, "--range"}, {&Filter::site, "--site"},
    {&Filter::min_bytes, "--min-bytes"}, {&Filter::from, "--from"},   {&Filter::to, "--to"}};

// The name of the first of the options that was typed; "": none.
std::string first_typed(const Filter& filter, std::initializer_list<Option> options) {
  for (const Option option : options) {
    if (!(filter.*option).empty()) return filter_option(option);
  }
  return {};
}

}  // namespace

const char* filter_option(std::string Filter::*option) {
  const auto is_it = [option](const auto& one) { return one.option == option; };
  return std::find_if(std::begin(kOptions), std::end(kOptions), is_it)->name;
}

bool Filter::is_empty() const {
  return !device && std::all_of(std::begin(kOptions), std::end(kOptions),
                                [this](const auto& one) { return (this->*one.option).empty(); });
}

bool Filter::chooses_rows() const {
  return !first_typed(*this, {&Filter::owner, &Filter::thread, &Filter::stream, &Filter::range,
                              &Filter::site, &Filter::min_bytes})
              .empty();
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

// "copy", or "stream 3", of "copy (stream 3)".
static bool stream_passes(std::string_view value, const std::string& stream) {
  const std::size_t behind_name = value.rfind(" (");
  if (behind_name == value.npos || !value.ends_with(')')) return false;
  const std::string_view number = value.substr(behind_name + 2);
  return value.substr(0, behind_name) == stream || number == stream + ")" ||
         number == "stream " + stream + ")";
}

bool Filter::passes(Axis axis, std::string_view value) const {
  switch (axis) {
    case Axis::owner:
      return owner.empty() || value == owner;
    case Axis::thread:
      return thread.empty() || thread_passes(value, thread) || threads.contains(std::string(value));
    case Axis::stream:
      return stream.empty() || value == stream || value == "stream " + stream ||
             stream_passes(value, stream);
    case Axis::range:
      if (range == kNoValue && value.empty()) return true;  // as refusals have it
      return range.empty() || range_passes(value, range);
    default:
      return true;
  }
}

namespace {

// The option, why a report cannot answer it, and what can: the report's own trace where it is
// there.
std::string refusal(const std::string& option, const std::string& why, const Filter& filter,
                    const FilterUse& use, const std::string& trace) {
  const std::string command = "vramscope " + use.of_a_trace + " " + filter_text(filter) + " ";
  return option + ": " + why +
         (trace.empty() ? "; a trace does, which run --trace FILE makes: " + command + "FILE"
                        : "; its trace does: " + command + shell_word(trace));
}

std::string cannot_filter_counters(const Filter& filter) {
  const std::string trace_alone = first_typed(
      filter, {&Filter::thread, &Filter::stream, &Filter::range, &Filter::from, &Filter::to});
  const std::string option =
      first_typed(filter, {&Filter::kind, &Filter::owner, &Filter::site, &Filter::min_bytes});
  if (option.empty() && trace_alone.empty()) return {};
  return (option.empty() ? trace_alone : option) +
         ": counters are of a whole device or of the host; stats takes --device, and " +
         (option.empty() ? "of a trace peak, leaks, sites and owners take " + trace_alone
                         : "peak, leaks and sites take " + option);
}

// The option and why, of those that a report cannot answer for rows.
std::pair<std::string, std::string> unanswered_of_rows(const Filter& filter, const FilterUse& use) {
  const std::string time = first_typed(filter, {&Filter::from, &Filter::to});
  if (!time.empty() && !use.draws_window)
    return {time, "a report does not tell single allocations and their times"};
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
    return {"--" + option, "a report has sums by " + option + " alone (vramscope owners --by " +
                               option + "), and does not tell places of one apart"};
  }
  if (use.axis && *use.axis != Axis::owner && !filter.owner.empty()) {
    return {"--owner", "a report has sums by owner alone, and does not tell what else they are"};
  }
  if (use.axis && !filter.site.empty()) {
    return {"--site", "sums of a report do not tell call stacks, which vramscope sites has"};
  }
  return {};
}

std::pair<std::string, std::string> unanswered(const Filter& filter, const FilterUse& use) {
  switch (use.subject) {
    case Subject::rows:
      return unanswered_of_rows(filter, use);
    case Subject::segments:
      return {first_typed(filter, {&Filter::thread, &Filter::stream, &Filter::range}),
              "a report does not tell more of blocks than call stacks and times"};
    case Subject::curves:
      return {first_typed(filter, {&Filter::owner, &Filter::thread, &Filter::stream, &Filter::range,
                                   &Filter::site}),
              "a report does not tell more of its timeline than kinds and devices"};
    default:
      return {};
  }
}

}  // namespace

std::string cannot_filter(const Filter& filter, const FilterUse& use, const std::string& trace) {
  if (use.subject == Subject::counters) return cannot_filter_counters(filter);
  if (use.subject == Subject::refusals) {
    return filter.stream.empty() ? ""
                                 : "--stream: which stream a refused allocation was for is not "
                                   "known; oom takes --thread, --range and --site";
  }
  const auto [option, why] = unanswered(filter, use);
  return option.empty() ? "" : refusal(option, why, filter, use, trace);
}

Answers answers(const FilterUse& use, std::string_view option) {
  Filter asked;
  if (option == "--device") asked.device = 0;
  for (const auto& [member, name] : kOptions) {
    if (name == option) asked.*member = "1";
  }
  if (use.inputs == Inputs::traces || cannot_filter(asked, use).empty()) return Answers::always;
  if (use.inputs != Inputs::both) return Answers::never;
  const bool is_axis = option == "--thread" || option == "--stream" || option == "--range";
  return use.axis && is_axis ? Answers::by_axis : Answers::of_traces;
}

TypedOptions typed_options(const Filter& filter) {
  TypedOptions typed;
  if (filter.device) typed.emplace_back("--device", std::to_string(*filter.device));
  for (const auto& [option, name] : kOptions) {
    if (!(filter.*option).empty()) typed.emplace_back(name, filter.*option);
  }
  return typed;
}

TypedOptions options_for_next(const Filter& filter, const FilterUse& use) {
  TypedOptions typed = typed_options(filter);
  const bool is_of_requests = use.subject == Subject::refusals;
  std::erase_if(typed, [&](const auto& one) {
    return is_of_requests && one.first == filter_option(&Filter::min_bytes);
  });
  return typed;
}

std::string filter_text(const Filter& filter) {
  std::string text;
  for (const auto& [option, value] : typed_options(filter)) {
    text += (text.empty() ? "" : " ") + (option + " " + shell_word(value));
  }
  return text;
}

}  // namespace vramscope
