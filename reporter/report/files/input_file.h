// read_file() reads a whole file, of which nothing is known: it may be a pipe, a device or a disk
// image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

struct InputFile {
  std::string text;
  std::string problem;      // "" if `text` is the whole file
  bool is_regular = false;  // it is a regular file and can be read again
  bool is_own = false;      // see is_own_file()
};

// Which file is expected. Its beginning is checked before more than 64 KiB are read.
struct Wanted {
  std::string_view noun;                             // "a report"
  std::size_t most_bytes;                            // a larger file is refused
  std::string (*wrong_beginning)(std::string_view);  // "", or "byte 1: expected ..."
};

// Returns "ends early at byte 500: cut off", the message for a file whose end is missing.
[[nodiscard]] std::string ends_early_at(std::uint64_t byte);

// Expects a JSON object of at most 4 GiB.
[[nodiscard]] Wanted wanted_report();

// Returns whether it is a regular file that belongs to the calling user and that nobody else may
// write, so its content can be trusted as the user's own.
[[nodiscard]] bool is_own_file(int descriptor);

// Reads all of `path`. A FIFO is read only while a process writes to it. May throw bad_alloc.
[[nodiscard]] InputFile read_file(const std::string& path, const Wanted& wanted);
// Reads an open file, without waiting (O_NONBLOCK).
[[nodiscard]] InputFile read_file(int descriptor, const Wanted& wanted);

// Returns the first `most_bytes` of a regular file, or "" if it is not one or cannot be read.
[[nodiscard]] std::string beginning_of(const std::string& path, std::size_t most_bytes);
// Does the same for an open file, from its present position.
[[nodiscard]] std::string beginning_of(int descriptor, std::size_t most_bytes);
// Returns a regular file's content from the last `mark` on, or "" if it has none or cannot be read.
// Reads about as much as it returns. May throw bad_alloc.
[[nodiscard]] std::string end_of(const std::string& path, std::string_view mark);

}  // namespace vramscope
