// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/options.h"

#include <algorithm>
#include <array>

#include "interpose/settings/private_variables.h"
#include "interpose/settings/problems.h"

namespace vramscope {
namespace {

constexpr std::string_view kPrefix = "VRAMSCOPE_";

template <class T>
struct Named {
  std::string_view text;
  T value;
};

constexpr Named<bool> kBooleans[] = {{"on", true},   {"off", false},   {"yes", true}, {"no", false},
                                     {"true", true}, {"false", false}, {"1", true},   {"0", false}};
#define NAMED_MODE(name) {#name, Mode::name},
constexpr Named<Mode> kModes[] = {VRAMSCOPE_MODES(NAMED_MODE)};
#undef NAMED_MODE
constexpr Named<Policy> kPolicies[] = {{"native-safe", Policy::native_safe},
                                       {"pytorch", Policy::pytorch}};
constexpr Named<ReuseTime> kReuses[] = {{"at-free", ReuseTime::at_free},
                                        {"at-reuse", ReuseTime::at_reuse}};
constexpr Named<OnOom> kOnOoms[] = {{"report", OnOom::report}, {"none", OnOom::none}};
constexpr Named<StackMethod> kStackMethods[] = {{"unwind", StackMethod::unwind_tables},
                                                {"frame-pointers", StackMethod::frame_pointers},
                                                {"none", StackMethod::none}};
// The signals that can be chosen: not those that cannot be caught, nor those that report a fault of
// the program.
constexpr Named<int> kSignals[] = {{"none", 0},       {"HUP", SIGHUP},       {"INT", SIGINT},
                                   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},     {"USR2", SIGUSR2},
                                   {"ALRM", SIGALRM}, {"TERM", SIGTERM},     {"CONT", SIGCONT},
                                   {"TSTP", SIGTSTP}, {"URG", SIGURG},       {"XCPU", SIGXCPU},
                                   {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"WINCH", SIGWINCH},
                                   {"IO", SIGIO},     {"PWR", SIGPWR}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Compares without regard to case; '_' equals '-'.
bool same(std::string_view left, std::string_view right) {
  const auto plain = [](char c) { return c == '_' ? '-' : lower(c); };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](char a, char b) { return plain(a) == plain(b); });
}

template <class T, std::size_t kCount, class Value>
bool read_named(std::string_view text, const Named<T> (&names)[kCount], Value& value) {
  for (const Named<T>& name : names) {
    if (!same(text, name.text)) continue;
    value = Value{name.value};
    return true;
  }
  return false;
}

template <class T, std::size_t kCount>
std::string text_named(T value, const Named<T> (&names)[kCount]) {
  for (const Named<T>& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return {};
}

template <class T, std::size_t kCount>
std::string accepted_named(const Named<T> (&names)[kCount]) {
  std::string result;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i != 0) result += i + 1 == kCount ? " or " : ", ";
    result += names[i].text;
  }
  return result;
}

std::string text(bool value) { return text_named(value, kBooleans); }
std::string text(Mode value) { return text_named(value, kModes); }
std::string text(Policy value) { return text_named(value, kPolicies); }
std::string text(ReuseTime value) { return text_named(value, kReuses); }
std::string text(OnOom value) { return text_named(value, kOnOoms); }
std::string text(StackMethod value) { return text_named(value, kStackMethods); }
std::string text(const std::string& value) { return value; }
std::string text(Bytes value) { return std::to_string(value.value); }
std::string text(StackDepth value) { return std::to_string(value.value); }

std::string accepted(const CapacityOption&) {
  return "a size such as 40GiB, sizes by device such as 0:40GiB,1:10GiB, or none";
}
std::string accepted(const bool&) { return "on or off"; }
std::string accepted(const Mode&) { return accepted_named(kModes); }
std::string accepted(const Policy&) { return accepted_named(kPolicies); }
std::string accepted(const ReuseTime&) { return accepted_named(kReuses); }
std::string accepted(const OnOom&) { return accepted_named(kOnOoms); }
std::string accepted(const StackMethod&) { return accepted_named(kStackMethods); }
std::string accepted(const Signal&) { return "a signal such as SIGUSR1 or 10, or none"; }
std::string accepted(const Bytes&) { return "a number of bytes such as 512KiB or 0"; }
std::string accepted(const Seconds&) { return "seconds such as 60 or 0.5, or 0"; }
std::string accepted(const Percent&) { return "a percentage such as 10%, or 0"; }
std::string accepted(const std::string&) { return "any text"; }
template <std::uint64_t kLowest, std::uint64_t kHighest>
std::string accepted(const Ranged<kLowest, kHighest>&) {
  return "a number from " + std::to_string(kLowest) + " to " + std::to_string(kHighest);
}

std::string variable_of(std::string_view name) {
  std::string result(kPrefix);
  for (const char c : name) result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

std::string flag_of(std::string_view name) {
  std::string result = "--";
  for (const char c : name) result += c == '_' ? '-' : c;
  return result;
}

// Calls f(name, value, sentence) for each option of `options`, in the order of options.def.
template <class Self, class F>
void visit(Self& options, F&& f) {
#define OPTION(type, name, value, sentence) f(std::string_view(#name), options.name, sentence);
#include "interpose/settings/options.def"
#undef OPTION
}

std::string nearest_variable(std::string_view unknown) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  visit(static_cast<const Options&>(Options{}),
        [&](std::string_view name, const auto&, const char*) {
          const std::string variable = variable_of(name);
          const std::size_t d = edit_distance(unknown, variable);
          if (d >= best_distance) return;
          best_distance = d;
          best = variable;
        });
  return best;
}

bool is_for_others(std::string_view name) {
  return std::find(std::begin(kPrivateVariables), std::end(kPrivateVariables), name) !=
         std::end(kPrivateVariables);
}

std::string bad_value(const Setting& setting, const std::string& wanted, const std::string& kept) {
  return std::string(setting.name) + "='" + shown(setting.value) + "' is not " + wanted +
         "; using " + kept;
}

std::string unknown(std::string_view name) {
  const std::string line = "unknown setting " + shown(name) + " ignored";
  return name.size() > kLongestMisspelt ? line : line + "; nearest is " + nearest_variable(name);
}

void apply(const Setting& setting, Options& options, Problems& problems) {
  bool known = false;
  visit(options, [&](std::string_view name, auto& value, const char*) {
    if (known || setting.name != variable_of(name)) return;
    known = true;
    if (!setting.value.empty() && !read(setting.value, value)) {
      problems.add([&] { return bad_value(setting, accepted(value), text(value)); });
    }
  });
  if (!known) problems.add([&] { return unknown(setting.name); });
}

}  // namespace

// The Levenshtein distance.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(left[i]) == lower(right[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

bool read(std::string_view text, bool& value) { return read_named(text, kBooleans, value); }
bool read(std::string_view text, Mode& value) { return read_named(text, kModes, value); }
bool read(std::string_view text, Policy& value) { return read_named(text, kPolicies, value); }
bool read(std::string_view text, ReuseTime& value) { return read_named(text, kReuses, value); }
bool read(std::string_view text, OnOom& value) { return read_named(text, kOnOoms, value); }
bool read(std::string_view text, StackMethod& value) {
  return read_named(text, kStackMethods, value);
}

bool read(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool read(std::string_view text, Signal& value) {
  std::uint64_t number = 0;
  if (read_number(text, number)) {
    const bool real_time = number >= static_cast<std::uint64_t>(SIGRTMIN) &&
                           number <= static_cast<std::uint64_t>(SIGRTMAX);
    const bool has_name = std::any_of(std::begin(kSignals), std::end(kSignals), [&](const auto& s) {
      return static_cast<std::uint64_t>(s.value) == number;
    });
    if (real_time || has_name) value.number = static_cast<int>(number);
    return real_time || has_name;
  }
  const bool prefixed = text.size() > 3 && same(text.substr(0, 3), "SIG");
  return read_named(prefixed ? text.substr(3) : text, kSignals, value);
}

bool read(std::string_view text, StackDepth& value) {
  std::uint64_t number = 0;
  if (!read_number(text, number) || number < 1 || number > kMaxFrames) return false;
  value.value = number;
  return true;
}

std::string text(Signal value) {
  const std::string name = text_named(value.number, kSignals);
  if (name.empty()) return std::to_string(value.number);
  return value.number == 0 ? name : "SIG" + name;
}

std::vector<Setting> collect_settings(const char* const* environment) {
  std::vector<Setting> result;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !entry.starts_with(kPrefix)) continue;
    const std::string_view name = entry.substr(0, equals);
    if (!is_for_others(name)) result.push_back({name, entry.substr(equals + 1)});
  }
  return result;
}

namespace {

// Names that lead elsewhere stay as they are. Idempotent, as a report repeats what is effective.
void move_into(const std::string& folder, std::string& name) {
  const bool is_inside = name.starts_with(folder + "/");
  if (!name.empty() && name.front() != '/' && !is_inside) name = folder + "/" + name;
}

void move_into_folder(Options& options) {
  std::string folder = options.output_folder;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (folder.empty()) return;
  if (options.output == Options().output) options.output = kNameInFolder;
  move_into(folder, options.output);
  move_into(folder, options.trace);
}

}  // namespace

ParseResult parse_options(std::span<const Setting> settings) {
  ParseResult result;
  Problems problems;
  for (const Setting& setting : settings) apply(setting, result.options, problems);
  result.problems = std::move(problems).lines();
  move_into_folder(result.options);
  return result;
}

std::vector<std::pair<std::string, std::string>> echo(const Options& options) {
  std::vector<std::pair<std::string, std::string>> result;
  visit(options, [&](std::string_view name, const auto& value, const char*) {
    result.emplace_back(name, text(value));
  });
  return result;
}

std::vector<OptionRow> option_rows() {
  std::vector<OptionRow> result;
  const Options defaults;
  visit(defaults, [&](std::string_view name, const auto& value, const char* sentence) {
    result.push_back({std::string(name), variable_of(name), flag_of(name), accepted(value),
                      text(value), sentence});
  });
  return result;
}

bool accepts(std::string_view variable, std::string_view value) {
  const Setting setting{variable, value};
  return parse_options({&setting, 1}).problems.empty();
}

}  // namespace vramscope
