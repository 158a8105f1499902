// The file in which the library notes the reports that it wrote during a run.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/note_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "interpose/settings/private_variables.h"
#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfNote = 64 << 20;  // of a note: a million paths

}  // namespace

Notes notes_in(const std::string& path) {
  constexpr std::string_view kTrace = kTraceNote;
  constexpr std::string_view kLive = kLiveNote;
  Notes notes;
  const std::string text = beginning_of(path, kMostOfNote);
  std::string_view rest = text;
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    std::string line(rest.substr(0, end));
    std::replace(line.begin(), line.end(), '\0', '\n');
    if (line.starts_with(kTrace)) {
      notes.traces.emplace_back(line.substr(kTrace.size()));
    } else if (line.starts_with(kLive)) {
      notes.live_files.emplace_back(line.substr(kLive.size()));
    } else if (!line.empty()) {
      notes.reports.emplace_back(line);
    }
  }
  return notes;
}

NoteFile::NoteFile() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  std::string name = (std::filesystem::absolute(folder, error) / "vramscope-note-XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) {
    error_ = "cannot note the reports in '" + folder.string() + "': ";
    error_ += std::strerror(errno);
    return;
  }
  close(file);
  path_ = name;
}

NoteFile::~NoteFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace vramscope
