// Completion for bash, zsh and fish: tables of the verbs' options, and the few lines that look into
// them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/completion_text.h"

#include <algorithm>
#include <string_view>

namespace vramscope {
namespace {

constexpr std::string_view kProgramVerb = "run";  // behind its options stands a command line

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

// The first sentence or line, for a menu.
std::string brief(const std::string& help) {
  std::string line = help.substr(0, help.find('\n'));
  if (line.ends_with('.')) line.pop_back();
  return line;
}

template <typename Wanted>
std::string names_of(const VerbDescription& verb, Wanted wanted) {
  std::vector<std::string> names;
  for (const OptionDescription& option : verb.options) {
    if (wanted(option)) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return joined(names);
}

std::string names_of(const std::vector<VerbDescription>& verbs) {
  std::vector<std::string> names;
  for (const VerbDescription& verb : verbs) names.push_back(verb.name);
  return joined(names);
}

// Tables that are looked up by verb, and by verb and option.
std::string bash_tables(const std::vector<VerbDescription>& verbs) {
  std::string options = "  case $verb in\n";
  std::string choices = "  case \"$verb $option\" in\n";
  for (const VerbDescription& verb : verbs) {
    const std::string all = names_of(verb, [](const OptionDescription&) { return true; });
    const std::string valued =
        names_of(verb, [](const OptionDescription& option) { return !option.value.empty(); });
    options += "    " + verb.name + ") options='" + all + "' valued=' " + valued + " ' ;;\n";
    for (const OptionDescription& option : verb.options) {
      if (option.choices.empty()) continue;
      std::string names;
      for (const std::string& name : option.names) {
        names += (names.empty() ? "'" : " | '") + (verb.name + " ") + name + "'";
      }
      choices += "    " + names + ") choices='" + joined(option.choices) + "' ;;\n";
    }
  }
  return options + "  esac\n" + choices + "  esac\n";
}

// `--mode=observe` arrives as three words, since COMP_WORDBREAKS has the equals sign.
constexpr std::string_view kBashBegin = R"(_vramscope() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
  local options= valued= choices= at
  COMPREPLY=()
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

constexpr std::string_view kBashEnd = R"(  if [[ $verb == run ]]; then
    for ((at = 2; at < COMP_CWORD; at++)); do
      [[ ${COMP_WORDS[at]} == -- ]] && ((at++)) && break
      [[ ${COMP_WORDS[at]} != -* ]] && break
      [[ ${COMP_WORDS[at + 1]} == = ]] && ((at += 2)) && continue
      [[ $valued == *" ${COMP_WORDS[at]} "* ]] && ((at++))
    done
    if ((at < COMP_CWORD)); then
      _vramscope_program $at
      return
    fi
  fi
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $valued == *" $option "* ]]; then
    _vramscope_files
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ $verb == run ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
    _vramscope_files
  else
    _vramscope_files
  fi
}
_vramscope_files() {
  local files
  compopt -o filenames 2>/dev/null
  mapfile -t files < <(compgen -f -- "$word")
  COMPREPLY+=("${files[@]}")
}
# What bash-completion knows of the program that begins at word $1, else files.
_vramscope_program() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  else
    _vramscope_files
  fi
}
complete -F _vramscope vramscope
)";

// zsh reads these signs itself in what describes an option.
std::string in_zsh(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (std::string_view("\\[]:").find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

std::string zsh_option(const OptionDescription& option) {
  std::string value;
  if (!option.value.empty()) {
    const std::string how = option.choices.empty() ? "_files" : "(" + joined(option.choices) + ")";
    value = ":" + in_zsh(option.value) + ":" + how;
  }
  std::string text;
  for (const std::string& name : option.names) {
    const std::string joint = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    text +=
        " \\\n      " + quoted("*" + name + joint + "[" + in_zsh(brief(option.help)) + "]" + value);
  }
  return text;
}

std::string fish_option(const OptionDescription& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    text += " -x -a " + quoted(joined(option.choices));
  } else if (!option.value.empty()) {
    text += " -r -F";
  }
  return text + " -d " + quoted(brief(option.help)) + "\n";
}

}  // namespace

std::string bash_completion(const std::vector<VerbDescription>& verbs) {
  const std::string first =
      "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '" +
      names_of(verbs) + " --help --version' -- \"$word\")\n    return\n  fi\n";
  return "# Completion of vramscope for bash: what `vramscope completion bash` prints.\n" +
         std::string(kBashBegin) + first + bash_tables(verbs) + std::string(kBashEnd);
}

std::string zsh_completion(const std::vector<VerbDescription>& verbs) {
  std::string text =
      "#compdef vramscope\n"
      "# Completion of vramscope for zsh: what `vramscope completion zsh` prints.\n"
      "_vramscope() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbDescription& verb : verbs) {
    text += "    " + quoted(in_zsh(verb.name) + ":" + brief(verb.help)) + "\n";
  }
  text +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe verb verbs\n"
      "    [[ $PREFIX == -* ]] && compadd -- --help --version\n"
      "    return\n  fi\n"
      "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n";
  for (const VerbDescription& verb : verbs) {
    text += "    " + verb.name + ")\n      _arguments -S";
    for (const OptionDescription& option : verb.options) text += zsh_option(option);
    const bool runs = verb.name == kProgramVerb;
    text +=
        std::string(" \\\n      ") + (runs ? "'*::program:_normal'" : "'*:file:_files'") + " ;;\n";
  }
  // Read as a file of completions it is called at once; by eval or source it is made known.
  return text +
         "  esac\n}\n"
         "if [[ $funcstack[1] == _vramscope ]]; then\n  _vramscope \"$@\"\n"
         "else\n  compdef _vramscope vramscope\nfi\n";
}

std::string fish_completion(const std::vector<VerbDescription>& verbs) {
  std::string text =
      "# Completion of vramscope for fish: what `vramscope completion fish` prints.\n";
  for (const VerbDescription& verb : verbs) {
    text += "complete -c vramscope -n __fish_use_subcommand -f -a " + verb.name + " -d " +
            quoted(brief(verb.help)) + "\n";
    const std::string of_verb =
        "complete -c vramscope -n '__fish_seen_subcommand_from " + verb.name + "'";
    for (const OptionDescription& option : verb.options) text += of_verb + fish_option(option);
    if (verb.name != kProgramVerb) continue;
    const std::string valued =
        names_of(verb, [](const OptionDescription& option) { return !option.value.empty(); });
    text += of_verb + " -x -a " +
            quoted("(__fish_complete_subcommand --fcs-skip=2 " + valued + ")") + "\n";
  }
  return text;
}

}  // namespace vramscope
