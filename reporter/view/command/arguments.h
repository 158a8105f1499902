// Command and CommandLine are the words that a person types, described without the argument parser,
// which only arguments.cpp includes: it takes a compiler longer than the verbs themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reporter/view/listing/description.h"

namespace CLI {
class App;
}

namespace vramscope {

// "", or why the word is none of those that the option takes.
using WhyNot = std::function<std::string(const std::string& given)>;

// Where the value that was typed goes; what stands there before is the default.
using Value = std::variant<std::string*, std::size_t*, unsigned*, int*, std::optional<unsigned>*,
                           std::vector<std::string>*>;

// What an option has beside its names, its value and its sentence.
struct OptionTraits {
  std::string value_name = {};  // of its value in --help: "BYTES"; "": by its type
  WhyNot why_not = {};
  bool shows_default = false;             // in --help
  std::string group = {};                 // its heading in --help; "": the usual one
  bool is_hidden = false;                 // read, but in no help
  int values = 1;                         // that stand behind its name, of one for a vector
  std::string needs = {};                 // another option, without which this one is a mistake
  std::vector<std::string> choices = {};  // all it takes, for a shell to complete; {}: files
};

// One verb's arguments. What is described has to live until the words are read. Threads: one.
class Command {
 public:
  // width: columns that its help may take.
  Command(CLI::App& app, std::size_t width) : app_(app), width_(width) {}

  // Names: "--json", "-o,--output".
  void flag(const std::string& names, bool& given, const std::string& help);
  void flag(const std::string& names, std::function<void()> when_given, const std::string& help);
  // A flag that may have a value: --cupti, --cupti=off.
  void flag(const std::string& names, std::string& value, const std::string& help,
            const OptionTraits& traits);
  void option(const std::string& names, Value value, const std::string& help,
              const OptionTraits& traits = {});
  // A word, or words, that have to be there: FILE.
  void positional(const std::string& name, Value value, const std::string& help,
                  WhyNot why_not = {});
  // Words that may be there.
  void words(const std::string& name, std::vector<std::string>& value, const std::string& help);
  // Both together are a mistake.
  void exclude(const std::string& option, const std::string& other);

  void footer(const std::string& text);
  // The line of --help that shows the order of the words.
  void usage(const std::string& text);

  [[nodiscard]] const std::string& name() const;
  // Whether `option`, "-o" or "--output", takes the word behind it for its value.
  [[nodiscard]] bool takes_value(const std::string& option) const;
  // What was typed for it, once the words were read: "--output", or a word's name, FILE.
  [[nodiscard]] std::vector<std::string> given(const std::string& name) const;
  // Whether this was the verb, once the words were read.
  [[nodiscard]] bool was_typed() const;
  // What --help is made of.
  [[nodiscard]] VerbDescription described() const;

 private:
  CLI::App& app_;
  std::size_t width_;
  std::map<std::string, std::vector<std::string>> choices_ = {};  // by the option's first name
};

// The words of "cache, observe or off"; {} when one of them is several: "a size such as 2GiB, or
// none".
[[nodiscard]] std::vector<std::string> choices_in(const std::string& sentence);

// "; nearest is NAME" of the names, or "" when the word is like none of them.
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& names);

// "; 16GB is written 16GiB" of a number with a unit that is no power of 1024, behind why it was
// refused; else "".
[[nodiscard]] std::string unit_meant(const std::string& given);

// Beside --version: the version's text is then a longer one.
inline constexpr char kVerboseFlag[] = "--verbose";

// All verbs of the tool. Threads: one.
class CommandLine {
 public:
  struct Texts {
    std::string name;
    std::string description;
    std::string version;
    std::string footer;
    std::size_t width = 100;  // columns that help may take
  };
  explicit CommandLine(const Texts& texts);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command& add_verb(const std::string& name, const std::string& help);
  // All verbs, in the order in which they were added.
  [[nodiscard]] std::vector<VerbDescription> described() const;

  struct Reading {
    bool answered = false;  // help or version is written: nothing is left to do
    std::string mistake;    // one line; "": none
  };
  // Sets the values of what was described. One verb has to be there.
  [[nodiscard]] Reading read(const std::vector<std::string>& words);

 private:
  std::unique_ptr<CLI::App> app_;
  std::size_t width_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace vramscope
