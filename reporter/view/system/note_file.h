// NoteFile is the file in which the library notes the reports that it wrote during a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "allocator/ground/own_file.h"

namespace vramscope {

// What a note (kNoteVariable) says: paths of reports, or the marks for what became of one; paths of
// traces and of live files. The first line, of who made it, is none of them. A last line without
// its newline is left out: it is being written.
struct Notes {
  std::vector<std::string> reports;
  std::vector<std::string> traces;
  std::vector<std::string> live_files;
  std::map<std::string, std::string> next_reports;  // by live file: the report for which it stands
};
[[nodiscard]] Notes notes_in(const std::string& path);

// Those go that runs of this user left in the folder for temporary files when they were killed:
// plain files of mode 0600, with one name of ours, whose maker is proved dead.
void remove_notes_of_dead_runs();

// A new file in the folder for temporary files, which says who made it; removed with this object.
class NoteFile {
 public:
  // After remove_notes_of_dead_runs().
  NoteFile();
  ~NoteFile();
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& error() const { return error_; }  // one line, "" when fine

 private:
  std::string path_;
  FileIdentity own_;
  std::string error_;
};

}  // namespace vramscope
