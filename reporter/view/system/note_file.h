// NoteFile is the file in which the library notes the reports that it writes during a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "allocator/base/own_file.h"

namespace vramscope {

// The content of a note (kNoteVariable): paths of reports, or marks for what became of one; paths
// of traces and of live files. It does not include the first line, which names the maker, nor a
// last line without a newline, which is still being written.
struct Notes {
  std::vector<std::string> reports;
  std::vector<std::string> traces;
  std::vector<std::string> live_files;
  std::map<std::string, std::string> next_reports;  // by live file: the report that it replaces
};
[[nodiscard]] Notes notes_in(const std::string& path);

// Removes the notes of this user's killed runs from the folder for temporary files: regular files
// of mode 0600, with a single name of our form, whose maker is proved dead.
void remove_notes_of_dead_runs();

// A new file in the folder for temporary files that names its maker. It is removed with this
// object.
class NoteFile {
 public:
  // Call remove_notes_of_dead_runs() before.
  NoteFile();
  ~NoteFile();
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& error() const { return error_; }  // one line; "": no error

 private:
  std::string path_;
  FileIdentity own_;
  std::string error_;
};

}  // namespace vramscope
