// Expands the escapes of a file name pattern.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/file_name.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace vramscope {

namespace {

// Returns a value as part of a file name: it adds no folder, and leaves room for the others in 255
// bytes.
std::string safe(std::string_view value) {
  constexpr std::size_t kLongest = 100;
  std::string text(value.substr(0, kLongest));
  for (char& c : text) {
    if (c == '/' || static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '_';
  }
  return text;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string utc(std::uint64_t ns) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(ns / kNsPerSecond);
  std::tm time{};
  char text[32];
  if (gmtime_r(&seconds, &time) == nullptr) return "0";
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &time)};
}

// Returns the name of a script, or "" for a folder ("python3 .").
std::string named(std::string_view script) {
  const std::string_view name = base_name(script);
  return name == "." || name == ".." ? "" : std::string(name);
}

class Expansion {
 public:
  Expansion(const NameFacts& facts, EnvironmentLookup environment)
      : facts_(facts), environment_(environment) {}

  std::string expand(std::string_view pattern) {
    while (!pattern.empty()) {
      const std::size_t percent = std::min(pattern.find('%'), pattern.size());
      for (const char c : pattern.substr(0, percent)) {
        if (c == '/') end_part();
        name_ += c;
        if (c == '/') part_ = name_.size();
      }
      pattern.remove_prefix(percent);
      filled_in_ = filled_in_ || !pattern.empty();
      name_ += escape(pattern);
    }
    end_part();
    if (!numbered_ && facts_.is_interim) add_sequence(name_);
    return std::move(name_);
  }

 private:
  // Takes one escape off the front of `pattern`, which is empty or begins with a percent sign.
  std::string escape(std::string_view& pattern) {
    if (pattern.size() >= 2 && pattern[1] == '{') return variable(pattern);
    const std::string_view taken = pattern.substr(0, 2);
    pattern.remove_prefix(taken.size());
    switch (taken.size() == 2 ? taken[1] : '\0') {
      case 'p':
        return std::to_string(facts_.pid);
      case 'h':
        return safe(facts_.hostname);
      case 'e':
        return program();
      case 'r':
        return number(facts_.rank);
      case 'R':
        return rank();
      case 'l':
        return number(facts_.local_rank);
      case 'w':
        return number(facts_.world_size);
      case 'a':
        return number(facts_.restart);
      case 'j':
        return facts_.job.empty() ? "job" : safe(facts_.job);
      case 'n':
        numbered_ = true;
        return std::to_string(facts_.sequence);
      case 't':
        return utc(facts_.start_time_ns);
      case '%':
        return "%";
      default:
        return std::string(taken);
    }
  }

  [[nodiscard]] std::string rank() const {
    if (facts_.rank < 0) return program();
    return "rank" + number(facts_.rank) +
           (facts_.restart > 0 ? ".restart" + number(facts_.restart) : "");
  }
  static std::string number(std::int64_t of) {
    return std::to_string(std::max<std::int64_t>(of, 0));
  }

  [[nodiscard]] std::string program() const {
    return safe(program_name(facts_.executable, facts_.arguments));
  }

  std::string variable(std::string_view& pattern) const {
    const std::size_t end = pattern.find('}');
    if (end == std::string_view::npos) return std::string(std::exchange(pattern, {}));
    const std::string name(pattern.substr(2, end - 2));
    pattern.remove_prefix(end + 1);
    const char* const value = environment_(name.c_str());
    return value == nullptr ? std::string() : safe(value);
  }

  // A part between slashes that values produced must not lead elsewhere: not up, and not to the
  // root.
  void end_part() {
    const std::string_view part = std::string_view(name_).substr(part_);
    if (filled_in_ && (part.empty() || part == "." || part == "..")) {
      name_.replace(part_, part.size(), std::max<std::size_t>(part.size(), 1), '_');
    }
    filled_in_ = false;
  }

  void add_sequence(std::string& name) const {
    constexpr std::string_view kExtension = ".json";
    const std::size_t at =
        name.ends_with(kExtension) ? name.size() - kExtension.size() : name.size();
    name.insert(at, "." + std::to_string(facts_.sequence));
  }

  const NameFacts& facts_;
  const EnvironmentLookup environment_;
  std::string name_;
  std::size_t part_ = 0;    // beginning of the part that is being made
  bool filled_in_ = false;  // a value contributed to the part
  bool numbered_ = false;
};

constexpr std::string_view kLetters = "pherRlwjant%";

// Returns the length of the escape at the front of `text`, which begins with a percent sign.
std::size_t escape_length(std::string_view text) {
  const bool is_variable = text.size() >= 2 && text[1] == '{';
  const std::size_t length = is_variable ? text.find('}', 2) : 1;
  return std::min(length, text.size() - 1) + 1;
}

bool is_known(std::string_view escape) {
  if (escape.size() < 2) return false;
  if (escape[1] == '{') return escape.back() == '}';
  return kLetters.find(escape[1]) != kLetters.npos;
}

}  // namespace

std::string_view wanted_name(std::string_view name) {
  const std::size_t mark = name.rfind('~');
  const bool is_marked = mark != name.npos && mark + 1 != name.size() &&
                         name.find_first_not_of("0123456789", mark + 1) == name.npos;
  return is_marked ? name.substr(0, mark) : name;
}

std::string python_script(std::string_view executable, const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "python";
  const std::string_view name = base_name(executable);
  const bool is_python =
      name.starts_with(kName) &&
      name.find_first_not_of("0123456789.dt", kName.size()) == name.npos;  // python3.13t
  for (std::size_t i = 1; is_python && i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!word.starts_with('-')) return named(word);
    if (word == "--check-hash-based-pycs") ++i;
    if (word == "-" || word.starts_with("--")) continue;
    const std::size_t at = word.find_first_of("cmWX", 1);  // the following is the option's value
    if (at == word.npos) continue;
    const std::string_view value = at + 1 < word.size()       ? word.substr(at + 1)
                                   : i + 1 < arguments.size() ? std::string_view(arguments[++i])
                                                              : std::string_view();
    if (word[at] == 'c') return "";
    if (word[at] == 'm') return named(value);
  }
  return "";
}

std::string program_name(std::string_view executable, const std::vector<std::string>& arguments) {
  std::string script = python_script(executable, arguments);
  return script.empty() ? std::string(base_name(executable)) : script;
}

std::string_view unknown_escape(std::string_view pattern) noexcept {
  while (true) {
    pattern.remove_prefix(std::min(pattern.find('%'), pattern.size()));
    if (pattern.empty()) return {};
    const std::string_view escape = pattern.substr(0, escape_length(pattern));
    if (!is_known(escape)) return escape;
    pattern.remove_prefix(escape.size());
  }
}

std::string expand_pattern(std::string_view pattern, const NameFacts& facts,
                           EnvironmentLookup environment) {
  return Expansion(facts, environment).expand(pattern);
}

}  // namespace vramscope
