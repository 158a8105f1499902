// Output is a file, or standard output, that something large is written to part by part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vramscope {

// Threads: one. May throw bad_alloc.
class Output {
 public:
  // "": standard output. A file that is there is overwritten.
  explicit Output(std::string path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Output& operator<<(std::string_view text);
  // Text that the caller appends to; flush_if_long() is called now and then.
  std::string& text() { return text_; }
  void flush_if_long();
  // "" when everything was written, else why not: "cannot write 'r.txt': ...". Nothing may follow.
  [[nodiscard]] std::string end();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void flush();
  std::string text_;
  std::string path_;
  int file_;
  int error_ = 0;  // errno of the first failure
};

}  // namespace vramscope
