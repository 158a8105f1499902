// Forwards to the argument parser, CLI11.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>

#include "interpose/settings/options.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeft = 30;  // columns of the names, before what they mean

// Help in the words of the parser, on a page of `width` columns.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::size_t width, std::string usage = "")
      : width_(width), usage_(std::move(usage)) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    return usage_.empty() ? CLI::Formatter::make_usage(app, std::move(name)) : usage_;
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return row(make_option_name(option, is_positional) + make_option_opts(option),
               make_option_desc(option));
  }
  // FILE says what it is: only that there may be more of them is worth a word.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_positional()) return without_count(CLI::Formatter::make_option_opts(option));
    return option->get_expected_max() > 1 ? " ..." : "";
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return row(verb->get_name(), verb->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), width_) + "\n";
  }
  // Commands are never cut; what is said of one stands below it where both are too long.
  std::string make_footer(const CLI::App* app) const override {
    std::istringstream lines(app->get_footer());
    std::string result;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = std::min(line.find("  ", 2), line.size());
      const bool is_command = line.starts_with("  ");
      if (columns(line) <= width_) {
        result += line + "\n";
      } else if (!is_command) {
        result += wrapped(line, width_) + "\n";
      } else {
        result += line.substr(0, end) + "\n";
        const std::size_t remark = line.find_first_not_of(' ', end);
        if (remark != std::string::npos) result += behind(line.substr(remark), 6);
      }
    }
    return result;
  }

 private:
  // The name of two values, "A B", says how many they are.
  static std::string without_count(std::string opts) {
    constexpr std::string_view kCount = " x 2";
    const std::size_t at = opts.find(kCount);
    return at == opts.npos ? opts : opts.erase(at, kCount.size());
  }
  // The lines of a text, each behind `margin` columns.
  [[nodiscard]] std::string behind(const std::string& text, std::size_t margin) const {
    std::istringstream lines(wrapped(text, width_ - margin));
    std::string result;
    for (std::string line; std::getline(lines, line);) {
      result.append(margin, ' ').append(line).append("\n");
    }
    return result;
  }
  [[nodiscard]] std::string row(const std::string& names, const std::string& meaning) const {
    const std::string left = "  " + names;
    std::string right;
    std::istringstream paragraphs(meaning);
    for (std::string text; std::getline(paragraphs, text);) right += behind(text, kLeft);
    if (left.size() >= kLeft || right.empty()) return left + "\n" + right;
    return left + right.substr(left.size());
  }

  std::size_t width_;
  std::string usage_;
};

void set(CLI::App& app, CLI::Option& option, const OptionTraits& traits) {
  if (!traits.value_name.empty()) option.type_name(traits.value_name);
  if (traits.why_not) option.check(traits.why_not);
  if (traits.shows_default) option.capture_default_str();
  if (!traits.group.empty()) option.group(traits.group);
  if (traits.is_hidden) option.group("");
  if (traits.values > 1) option.expected(traits.values);
  if (!traits.needs.empty()) option.needs(app.get_option(traits.needs));
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name()};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// For the first option that the verb does not have.
std::string nearest_flag(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const std::string& word : verb->remaining()) {
      if (word.starts_with("--")) return nearest(word.substr(0, word.find('=')), flags_of(*verb));
    }
  }
  return {};
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = word.size() / 2;  // farther than that is another word
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = name;
  }
  return best.empty() ? best : "; nearest is " + best;
}

std::string unit_meant(const std::string& given) {
  const std::size_t digits = given.find_first_not_of("0123456789");
  if (digits == 0 || digits == given.npos) return "";
  const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(given[digits])));
  if (std::string_view("KMGT").find(unit) == std::string_view::npos) return "";
  return "; " + given + " is written " + given.substr(0, digits) + unit + "iB";
}

void Command::flag(const std::string& names, bool& given, const std::string& help) {
  app_.add_flag(names, given, help);
}

void Command::flag(const std::string& names, std::function<void()> when_given,
                   const std::string& help) {
  app_.add_flag_callback(names, std::move(when_given), help);
}

void Command::flag(const std::string& names, std::string& value, const std::string& help,
                   const OptionTraits& traits) {
  set(app_, *app_.add_flag(names, value, help), traits);
}

void Command::option(const std::string& names, Value value, const std::string& help,
                     const OptionTraits& traits) {
  const auto add = [&](auto* where) { return app_.add_option(names, *where, help); };
  CLI::Option& option = *std::visit(add, value);
  option.allow_extra_args(false);  // of several values each has the name before it
  set(app_, option, traits);
  if (!traits.choices.empty()) choices_[names_of(option).front()] = traits.choices;
}

void Command::positional(const std::string& name, Value value, const std::string& help,
                         WhyNot why_not) {
  const auto add = [&](auto* where) { return app_.add_option(name, *where, help); };
  CLI::Option* const option = std::visit(add, value);
  option->required();
  if (why_not) option->check(std::move(why_not));
}

void Command::words(const std::string& name, std::vector<std::string>& value,
                    const std::string& help) {
  app_.add_option(name, value, help);
}

void Command::exclude(const std::string& option, const std::string& other) {
  app_.get_option(option)->excludes(app_.get_option(other));
}

void Command::footer(const std::string& text) { app_.footer(text); }
void Command::usage(const std::string& text) {
  app_.formatter(std::make_shared<Formatter>(width_, "Usage: " + text + "\n\n"));
}

const std::string& Command::name() const { return app_.get_name(); }

bool Command::takes_value(const std::string& option) const {
  const CLI::Option* const found = app_.get_option_no_throw(option);
  return found != nullptr && found->get_items_expected_max() > 0;
}

std::vector<std::string> Command::given(const std::string& name) const {
  const CLI::Option* const found = app_.get_option_no_throw(name);
  return found == nullptr ? std::vector<std::string>() : found->results();
}

bool Command::was_typed() const { return app_.parsed(); }

VerbDescription Command::described() const {
  VerbDescription verb{
      .name = app_.get_name(), .help = app_.get_description(), .footer = app_.get_footer()};
  for (const CLI::Option* const option : app_.get_options()) {
    const bool is_word = option->get_positional();
    if (option->get_group().empty() && !is_word) continue;
    OptionDescription of{.names = names_of(*option), .help = option->get_description()};
    if (option->get_items_expected_max() > 0 && !is_word) of.value = option->get_type_name();
    // Before it stands what usually counts: "COST=peak" in --help.
    if (!of.value.empty()) of.usual = option->get_default_str();
    const auto choices = choices_.find(of.names.front());
    if (choices != choices_.end()) of.choices = choices->second;
    of.is_repeatable = is_word && option->get_expected_max() > 1;
    (is_word ? verb.words : verb.options).push_back(std::move(of));
  }
  return verb;
}

std::vector<std::string> choices_in(const std::string& sentence) {
  std::string list = sentence;
  if (const std::size_t last = list.rfind(" or "); last != list.npos) list.replace(last, 4, ", ");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(", ", at), list.size());
    words.push_back(list.substr(at, end - at));
    if (words.back().empty() || words.back().find(' ') != std::string::npos) return {};
    at = end + 2;
  }
  return words;
}

namespace {

// What was mistyped, in our words where the parser's are none of a person's.
std::string mistake_of(const CLI::ParseError& error) {
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::string_view kOnce = ": At Most 1 required but received ";
  const std::size_t at = text.find(kOnce);
  if (at == std::string::npos) return text;
  return text.substr(0, at) + " takes one value, and was given " + text.substr(at + kOnce.size()) +
         " times";
}

}  // namespace

CommandLine::CommandLine(const Texts& texts)
    : app_(std::make_unique<CLI::App>(texts.description, texts.name)), width_(texts.width) {
  CLI::Option* const version =
      app_->set_version_flag("--version", texts.version, "Print the version");
  app_->add_flag_callback(
          kVerboseFlag, [] {}, "With --version: print what this build contains")
      ->needs(version);
  app_->require_subcommand(1);
  app_->footer(texts.footer);
  app_->formatter(std::make_shared<Formatter>(width_));
}

CommandLine::~CommandLine() = default;

Command& CommandLine::add_verb(const std::string& name, const std::string& help) {
  return *commands_.emplace_back(
      std::make_unique<Command>(*app_->add_subcommand(name, help), width_));
}

std::vector<VerbDescription> CommandLine::described() const {
  std::vector<VerbDescription> verbs;
  for (const auto& command : commands_) verbs.push_back(command->described());
  return verbs;
}

CommandLine::Reading CommandLine::read(const std::vector<std::string>& words) {
  Reading reading;
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser's order
  } catch (const CLI::ParseError& error) {
    reading.answered = error.get_exit_code() == 0;  // help and version are no errors
    if (reading.answered) {
      app_->exit(error);
    } else {
      const bool lacks_verb =
          !words.empty() && words.front().starts_with('-') && app_->get_subcommands().empty();
      reading.mistake = lacks_verb
                            ? "no option is called '" + words.front() + "' where a verb is expected"
                            : mistake_of(error);
      const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
      if (is_extra) reading.mistake += nearest_flag(*app_);
    }
  }
  return reading;
}

}  // namespace vramscope
