// Shortens C++ function names for people.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/report/symbols.h"

namespace vramscope {

namespace {

// Returns the length of "operator<", "operator()" and similar names, whose brackets belong to the
// name.
std::size_t operator_length(std::string_view text) {
  constexpr std::string_view kWord = "operator";
  if (!text.starts_with(kWord)) return 0;
  for (const std::string_view symbol :
       {"()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"}) {
    if (text.substr(kWord.size()).starts_with(symbol)) return kWord.size() + symbol.size();
  }
  return 0;
}

// Returns the length from an opening bracket to behind its closing one, or all of the text if that
// is missing.
std::size_t bracketed_length(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (const std::size_t name = operator_length(text.substr(i)); name != 0) {
      i += name - 1;
    } else if (text[i] == '(' || text[i] == '<' || text[i] == '{') {
      ++depth;
    } else if ((text[i] == ')' || text[i] == '>' || text[i] == '}') && !arrow && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

// Returns "<r::Buffer as Drop>" for Rust's "<r::Buffer as Drop>::drop", or "" for other names.
std::string type_and_trait(std::string_view bracketed) {
  constexpr std::string_view kAs = " as ";
  const std::size_t middle = bracketed.find(kAs);
  if (middle == std::string_view::npos) return "";
  const std::string_view trait = bracketed.substr(middle + kAs.size());
  return "<" + shorten(bracketed.substr(1, middle - 1)) + std::string(kAs) +
         shorten(trait.substr(0, trait.size() - 1)) + ">";
}

// Returns true for "<module>" and "<lambda>", names of Python code, and for a type of Rust.
bool is_one_word(std::string_view bracketed) {
  return bracketed.size() > 2 && bracketed.ends_with('>') &&
         std::all_of(bracketed.begin() + 1, bracketed.end() - 1,
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_inside_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// Returns "<int, std::al..tor<int> >" for template arguments in brackets, with at most `most` bytes
// between these.
std::string arguments_text(std::string_view bracketed, std::size_t most) {
  constexpr std::size_t kLeast = 8;  // fewer say nothing
  if (bracketed.size() <= most + 2) return std::string(bracketed);
  if (most < kLeast) return "<...>";
  std::size_t head = 1 + (most - 2) / 2;
  std::size_t tail = bracketed.size() - 1 - (most - 2) / 2;
  while (head > 1 && is_inside_code_point(bracketed[head])) --head;
  while (tail < bracketed.size() && is_inside_code_point(bracketed[tail])) ++tail;
  return std::string(bracketed.substr(0, head)) + ".." + std::string(bracketed.substr(tail));
}

// Returns the name with at most so many bytes of each list of template arguments.
std::string name_of(std::string_view function, std::size_t most_arguments) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string text;
  bool in_operator = false;  // the following belongs to the name: "operator new", "operator bool"
  while (!function.empty()) {
    std::size_t length = 1;
    if (const std::size_t name = operator_length(function); name != 0) {
      text += function.substr(0, length = name);
      in_operator = true;
    } else if (function.starts_with(kAnonymous)) {
      text += function.substr(0, length = kAnonymous.size());
    } else if (function.front() == '(' && !text.empty()) {
      length = bracketed_length(function);
      if (!function.substr(length).starts_with("::")) break;  // only qualifiers follow
    } else if (function.front() == '<') {
      length = bracketed_length(function);
      const std::string_view bracketed = function.substr(0, length);
      const std::string rust = text.empty() ? type_and_trait(bracketed) : std::string();
      const bool begins_a_name = text.empty() || text.back() == '.';
      if (begins_a_name && is_one_word(bracketed)) {
        text += bracketed;
      } else {
        text += rust.empty() ? arguments_text(bracketed, most_arguments) : rust;
      }
    } else if (function.front() == '{') {
      text += function.substr(0, length = bracketed_length(function));
    } else if (function.front() == ' ' && !in_operator) {
      text.clear();  // the text was the result type, with which names of templates begin
    } else {
      in_operator = in_operator || function.starts_with("operator ");
      text += function.front();
    }
    function.remove_prefix(length);
  }
  return text;
}

}  // namespace

std::string without_signature(std::string_view function) {
  return name_of(function, function.size());
}

std::string shorten(std::string_view function) { return name_of(function, 0); }

std::string shorten(std::string_view function, std::size_t most) {
  constexpr std::string_view kCut = "<...>";
  std::string text = name_of(function, 0);
  std::size_t lists = 0;
  for (std::size_t at = text.find(kCut); at != text.npos; at = text.find(kCut, at + 1)) ++lists;
  for (std::size_t share = lists == 0 ? 0 : most / lists; share != 0; share = share * 3 / 4) {
    std::string longer = name_of(function, share);
    if (longer.size() <= most) return longer;
  }
  return text;
}

}  // namespace vramscope
