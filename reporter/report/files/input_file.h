// read_file() gives the whole of a file that may be anybody's: a pipe, a device, a disk image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

struct InputFile {
  std::string text;
  std::string problem;      // "" when text is the whole file
  bool is_regular = false;  // and so may be read again
  bool is_own = false;      // as is_own_file() says
};

// What is wanted. Its beginning is looked at before more is read than 64 KiB.
struct Wanted {
  std::string_view noun;                             // "a report"
  std::size_t most_bytes;                            // a larger file is refused
  std::string (*wrong_beginning)(std::string_view);  // "", or "byte 1: expected ..."
};

// "ends early at byte 500: cut off": what is said of a file of which the rest is missing.
[[nodiscard]] std::string ends_early_at(std::uint64_t byte);

// A JSON object of at most 4 GiB.
[[nodiscard]] Wanted wanted_report();

// Whether it is a regular file of the calling user's that nobody else may write: what stands in it
// is the user's own word.
[[nodiscard]] bool is_own_file(int descriptor);

// Reads all of `path`. A FIFO is waited for only while somebody writes to it. May throw bad_alloc.
[[nodiscard]] InputFile read_file(const std::string& path, const Wanted& wanted);
// The same for what is open already, without waiting (O_NONBLOCK).
[[nodiscard]] InputFile read_file(int descriptor, const Wanted& wanted);

// The first `most_bytes` of a regular file; "" when it is none or cannot be read.
[[nodiscard]] std::string beginning_of(const std::string& path, std::size_t most_bytes);
// The same for what is open already, from where it stands.
[[nodiscard]] std::string beginning_of(int descriptor, std::size_t most_bytes);
// From the last `mark` of a regular file on; "" where it has none or cannot be read. Reads about as
// much as that is. May throw bad_alloc.
[[nodiscard]] std::string end_of(const std::string& path, std::string_view mark);

}  // namespace vramscope
