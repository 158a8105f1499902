// Output is a file or standard output to which something large is written in parts.
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

// Who may read a new file: only its owner, as with reports, whose content it may have; or as the
// umask says. A file that is replaced keeps its mode.
enum class Readers : std::uint8_t { owner, others };

// Returns the descriptor that a path such as /dev/stdout or /dev/fd/3 names, or -1.
[[nodiscard]] int descriptor_named_by(const std::string& path);

// A file appears, or replaces an existing one, once it is complete; if writing fails, the old file
// stays. It is written next to its final name. If that is not possible, or the file has other names
// or another owner, the content is kept elsewhere until it is complete and then written over the
// file. Devices and pipes receive the content as it is written. Threads: one. May throw bad_alloc,
// and system_error of a scratch file.
class Output {
 public:
  // path "": standard output. The caller has decided that an existing file may be replaced.
  explicit Output(std::string path, Readers readers = Readers::owner);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Output& operator<<(std::string_view text);
  // The caller appends to this text and calls flush_if_long() from time to time.
  std::string& text() { return text_; }
  void flush_if_long();
  // Returns "" if everything was written, else why not: "cannot write 'r.txt': ...". Nothing may be
  // written after it.
  [[nodiscard]] std::string end();

  // Returns the file that is being written, for code that writes by name; "": none.
  [[nodiscard]] std::string made_file() const { return file_ ? file_->temporary_name() : ""; }

 private:
  void open();
  void open_file(bool is_there);
  void flush();
  void write_over();
  void write(std::string_view text);

  std::string text_;
  std::string path_;
  std::string target_;  // the path with links resolved
  Readers readers_;
  struct stat before_ {};  // of the file that will be replaced
  bool replaces_ = false;
  std::optional<OutputFile> file_ = {};
  std::optional<UnfinishedFile> unfinished_ = {};
  std::optional<ScratchFile> kept_ = {};  // content that will be written over the file
  int descriptor_ = -1;                   // of a device or pipe
  int error_ = 0;                         // errno of the first failure
};

}  // namespace vramscope
