// Suppressions are patterns of frames whose memory stays on purpose: files in the syntax of
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

// Returns whether LeakSanitizer's pattern matches in `text`: anywhere, but with "^" as its first
// character only at the beginning, with "$" as its last only at the end; "*" matches anything. No
// pattern matches in an empty text. Takes at most as many steps as the product of both lengths.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view text);

struct Suppression {
  std::string pattern;
  std::string source;     // the file, as the user named it
  std::size_t line = 0;   // in it, from 1
  bool is_usual = false;  // from the list that comes with Vramscope
};

// Threads: one. May throw bad_alloc.
class Suppressions {
 public:
  // Adds the lines of a file: leak:PATTERN, comments after "#", and empty lines. Returns "", or one
  // line about the first other line, "FILE:LINE: expected ..."; then nothing was added.
  [[nodiscard]] std::string add(std::string_view text, const std::string& source);
  // Does the same for the file at `path`, of at most 16 MiB; "PATH: No such file or directory".
  [[nodiscard]] std::string add_file(const std::string& path);
  // Adds usual.suppressions, for what common libraries keep until the process ends.
  void add_usual();

  [[nodiscard]] const std::vector<Suppression>& rows() const { return rows_; }
  [[nodiscard]] bool have_usual() const;

  // Returns the first one that matches in one of the texts, or nothing.
  [[nodiscard]] std::optional<std::size_t> first_in(const std::vector<std::string>& texts) const;

 private:
  std::vector<Suppression> rows_;
};

// Returns the texts in which a frame is searched: its functions and their files, and its object's
// path. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> texts_of_frame(const Report& report, const FrameFact& frame,
                                                      const NameFrame& name);

// Finds the suppression that applies to a call stack: the one that matches a function, a file or
// the module of the innermost frame with a match. A suppression of Vramscope's list that names a
// library applies to what the library allocated, not to what the program did in a callback. Each
// frame is looked up once. Threads: one.
class SuppressedStacks {
 public:
  SuppressedStacks(const Report& report, const Suppressions& suppressions, NameFrame name)
      : report_(report), suppressions_(suppressions), name_(std::move(name)) {}

  // Returns an index into the suppressions' rows, or nothing. frames: the whole stack, innermost
  // first. May throw bad_alloc.
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
