// What passes a filter, and which of them a listing can answer.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/filter/filter.h"

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
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/analysis/report_figures.h"

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

// Every option that takes a text; --device takes a number.
constexpr struct {
  FilterOption option;
  const char* name;
} kOptions[] = {{&Filter::kind, "--kind"},         {&Filter::owner, "--owner"},
                {&Filter::thread, "--thread"},     {&Filter::stream, "--stream"},
                {&Filter::range, "--range"},       {&Filter::site, "--site"},
                {&Filter::function, "--function"}, {&Filter::min_bytes, "--min-bytes"},
                {&Filter::from, "--from"},         {&Filter::to, "--to"}};

}  // namespace

std::string first_typed(const Filter& filter, std::initializer_list<FilterOption> options) {
  for (const FilterOption option : options) {
    if (!(filter.*option).empty()) return filter_option(option);
  }
  return {};
}

FilterOption option_named(std::string_view name) {
  for (const auto& [member, its_name] : kOptions) {
    if (its_name == name) return member;
  }
  return nullptr;
}

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

std::set<std::string> functions_that_pass(const Filter& filter,
                                          const std::vector<std::string>& names) {
  const Pattern pattern(filter.function);
  std::set<std::string> functions;
  for (const std::string& name : names)
    if (filter.function.empty() || pattern.is_in(name)) functions.insert(name);
  return functions;
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

}  // namespace vramscope
