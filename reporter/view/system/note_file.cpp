// The file in which the library notes the reports that it wrote during a run.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/note_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "interpose/settings/private_variables.h"
#include "interpose/settings/use_question.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/maker.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfNote = 64 << 20;  // of a note: a million paths
constexpr std::string_view kName = "vramscope-note-";
constexpr std::size_t kOwnLetters = 6;  // behind it, as mkostemp() makes them

std::string place_of_notes() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  return std::filesystem::absolute(folder, error).string();
}

bool is_name_of_note(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return name.size() == kName.size() + kOwnLetters && name.starts_with(kName) &&
         name.find_first_not_of(kLetters, kName.size()) == name.npos;
}

// Who made the open note; nothing when it is none.
std::optional<Maker> maker_of_note(int file) {
  constexpr std::string_view kBeginning = kNoteBeginning;
  std::array<char, 256> text{};
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  std::string_view line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (!line.starts_with(kBeginning) || line.find('\n') == line.npos) return std::nullopt;
  return maker_of(line.substr(kBeginning.size(), line.find('\n') - kBeginning.size()));
}

// Of an open file.
bool is_of_dead_run(int file) {
  struct stat found {};
  if (fstat(file, &found) != 0 || !is_as_we_make(found)) return false;
  const std::optional<Maker> maker = maker_of_note(file);
  return maker && (state_of(*maker) == MakerState::gone || is_of_earlier_boot(file, *maker));
}

void remove_if_of_dead_run(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return;
  if (is_of_dead_run(file)) remove_own_file(path, identity_of(file));
  close(file);
}

}  // namespace

void remove_notes_of_dead_runs() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(place_of_notes(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (is_name_of_note(entry->path().filename().native())) remove_if_of_dead_run(path);
  }
}

Notes notes_in(const std::string& path) {
  constexpr std::string_view kTrace = kTraceNote;
  constexpr std::string_view kLive = kLiveNote;
  constexpr std::string_view kNext = kNextNote;
  constexpr std::string_view kFree = kFreeNote;
  Notes notes;
  const std::string text = beginning_of(path, kMostOfNote);
  std::string_view rest = text;
  if (rest.starts_with(kNoteBeginning)) rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    std::string line(rest.substr(0, end));
    std::replace(line.begin(), line.end(), '\0', '\n');
    if (line.starts_with(kTrace)) {
      notes.traces.emplace_back(line.substr(kTrace.size()));
    } else if (line.starts_with(kLive)) {
      notes.live_files.emplace_back(line.substr(kLive.size()));
    } else if (line.starts_with(kNext)) {
      if (!notes.live_files.empty()) {
        notes.next_reports[notes.live_files.back()] = line.substr(kNext.size());
      }
    } else if (!line.empty() && !line.starts_with(kFree) && !line.starts_with(kAskNote) &&
               !line.starts_with(kUseNote)) {
      notes.reports.emplace_back(line);
    }
  }
  return notes;
}

NoteFile::NoteFile() {
  const std::string folder = place_of_notes();
  remove_notes_of_dead_runs();
  std::string name = folder + "/" + std::string(kName) + std::string(kOwnLetters, 'X');
  const int file = mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (file >= 0) {
    path_ = name;
    own_ = identity_of(file);
  }
  const std::string line = kNoteBeginning + maker_text(this_maker()) + "\n";
  const ssize_t written = file < 0 ? -1 : ::write(file, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    error_ = "cannot note the reports in '" + folder + "': ";
    error_ += std::strerror(written < 0 ? errno : ENOSPC);
  }
  if (file >= 0) close(file);
}

NoteFile::~NoteFile() {
  if (!path_.empty()) remove_own_file(path_, own_);
}

}  // namespace vramscope
