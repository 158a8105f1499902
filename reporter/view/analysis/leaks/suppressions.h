// Suppressions are the patterns of frames whose memory is meant to stay: files in the syntax of
// LeakSanitizer, and the list that comes with Vramscope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// Whether LeakSanitizer's pattern is found in `text`: anywhere in it, but for "^" as its first
// character at the beginning, for "$" as its last at the end; "*" is anything. No pattern is found
// in an empty text. Takes at most as many steps as the product of both lengths.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view text);

struct Suppression {
  std::string pattern;
  std::string source;     // the file, as it was named
  std::size_t line = 0;   // in it, from 1
  bool is_usual = false;  // of the list that comes with Vramscope
};

// Threads: one. May throw bad_alloc.
class Suppressions {
 public:
  // Adds the lines of a file: leak:PATTERN, comments after "#" and empty ones. Gives "", or of the
  // first line that is something else one line for a person, "FILE:LINE: expected ...", in which
  // case nothing was added.
  [[nodiscard]] std::string add(std::string_view text, const std::string& source);
  // The same of the file at `path`, of at most 16 MiB; "PATH: No such file or directory".
  [[nodiscard]] std::string add_file(const std::string& path);
  // Those for what the usual libraries keep until the process ends: usual.suppressions.
  void add_usual();

  [[nodiscard]] const std::vector<Suppression>& rows() const { return rows_; }
  [[nodiscard]] bool have_usual() const;

  // The first that is found in one of the texts; nothing: none is.
  [[nodiscard]] std::optional<std::size_t> first_in(const std::vector<std::string>& texts) const;

 private:
  std::vector<Suppression> rows_;
};

// What a frame is looked for by: its functions and their files, and its object's path. May throw
// bad_alloc.
[[nodiscard]] std::vector<std::string> texts_of_frame(const Report& report, const FrameFact& frame,
                                                      const NameFrame& name);

// Which suppression holds for call stacks: the one found in a function, a file or the module of the
// innermost frame that has any. A usual one that names a library holds for what this library
// allocated, not for what the program did in a call back. Each frame is looked up once. Threads:
// one.
class SuppressedStacks {
 public:
  SuppressedStacks(const Report& report, const Suppressions& suppressions, NameFrame name)
      : report_(report), suppressions_(suppressions), name_(std::move(name)) {}

  // An index into the suppressions' rows; nothing: none holds. `frames`: whole, innermost first.
  // May throw bad_alloc.
  [[nodiscard]] std::optional<std::size_t> of(const std::vector<std::uint32_t>& frames);

 private:
  [[nodiscard]] std::optional<std::size_t> of_frame(std::uint32_t frame);

  const Report& report_;
  const Suppressions& suppressions_;
  NameFrame name_;
  struct Known {
    bool looked_up = false;
    std::optional<std::size_t> row;
  };
  std::vector<Known> known_;  // by frame
};

}  // namespace vramscope
