// NoteFile is the file in which the library notes the reports that it wrote during a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

// Lines of a note (kNoteVariable); the last one without its newline is left out: it is being
// written.
[[nodiscard]] std::vector<std::string> note_lines(const std::string& path);

// A new, empty file in the folder for temporary files; removed with this object.
class NoteFile {
 public:
  NoteFile();
  ~NoteFile();
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& error() const { return error_; }  // one line, "" when fine

 private:
  std::string path_;
  std::string error_;
};

}  // namespace vramscope
