// Output is a file, or standard output, that something large is written to part by part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/report/files/output_file.h"
#include "reporter/report/files/scratch_file.h"
#include "reporter/view/system/unfinished.h"

namespace vramscope {

// Who may read a file that becomes of it: its owner alone, as with reports, for it holds what they
// do, or as the umask says. One that is replaced keeps the mode that it has.
enum class Readers : std::uint8_t { owner, others };

// Descriptor that a path such as /dev/stdout or /dev/fd/3 names; -1: it names none.
[[nodiscard]] int descriptor_named_by(const std::string& path);

// A file appears, or replaces the one of its name, once it is whole: what fails before leaves what
// was there. It is made beside; where that cannot be, or the file has other names or another owner,
// it is kept elsewhere until it is whole, and then written over the file. Devices and pipes are
// written to as it comes. Threads: one. May throw bad_alloc, and system_error of a scratch file.
class Output {
 public:
  // "": standard output. The caller has judged whether a file that is there may be replaced.
  explicit Output(std::string path, Readers readers = Readers::owner);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Output& operator<<(std::string_view text);
  // Text that the caller appends to; flush_if_long() is called now and then.
  std::string& text() { return text_; }
  void flush_if_long();
  // "" when everything was written, else why not: "cannot write 'r.txt': ...". Nothing may follow.
  [[nodiscard]] std::string end();

  // The file that is being made, for who writes by a name; "": there is none.
  [[nodiscard]] std::string made_file() const { return file_ ? file_->temporary_name() : ""; }

 private:
  void open();
  void open_file(bool is_there);
  void flush();
  void write_over();
  void write(std::string_view text);

  std::string text_;
  std::string path_;
  std::string target_;  // where links lead
  Readers readers_;
  struct stat before_ {};  // of what is to be replaced
  bool replaces_ = false;
  std::optional<OutputFile> file_ = {};
  std::optional<UnfinishedFile> unfinished_ = {};
  std::optional<ScratchFile> kept_ = {};  // what is to be written over the file
  int descriptor_ = -1;                   // of what is written to as it comes
  int error_ = 0;                         // errno of the first failure
};

}  // namespace vramscope
