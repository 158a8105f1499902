// The file in which the library notes the reports that it wrote during a run.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/note_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;  // of a note: a million paths

}  // namespace

std::vector<std::string> note_lines(const std::string& path) {
  std::vector<std::string> result;
  const std::string text = beginning_of(path, kMostBytes);
  std::string_view rest = text;
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    if (end != 0) result.emplace_back(rest.substr(0, end));
  }
  return result;
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
