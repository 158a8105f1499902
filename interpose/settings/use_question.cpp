// Writes and reads questions and answers, which are lines that both sides append to the note.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/use_question.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"
#include "allocator/base/uncancelled.h"
#include "interpose/settings/private_variables.h"

namespace vramscope {
namespace {

constexpr const char* kUnknown = "?";
constexpr std::size_t kMostOfAnswer = std::size_t{256} << 10;

std::atomic<bool> is_silent{false};  // `run` did not answer
std::atomic<std::uint32_t> questions{0};

struct OpenNote {
  explicit OpenNote(const char* path) : file(open_note(path)) {}
  ~OpenNote() {
    if (file >= 0) close(file);
  }
  OpenNote(const OpenNote&) = delete;
  OpenNote& operator=(const OpenNote&) = delete;
  const int file;
};

bool append(int file, const std::string& line) {
  return write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

// Returns a name for a line, with only printable characters and no delimiter.
std::string harmless(std::string name) {
  const auto ends = [](char c) { return c <= ' ' || c > '~' || c == ',' || c == '='; };
  std::replace_if(name.begin(), name.end(), ends, '_');
  return name;
}

// Reads "4711=400000000=python3".
std::optional<DeviceProcess> process_in(std::string_view text) {
  const std::size_t first = text.find('=');
  const std::size_t second = first == text.npos ? first : text.find('=', first + 1);
  if (second == text.npos) return std::nullopt;
  DeviceProcess process{.name = std::string(text.substr(second + 1))};
  const auto pid = std::from_chars(text.data(), text.data() + first, process.pid);
  const auto bytes = std::from_chars(text.data() + first + 1, text.data() + second, process.bytes);
  const bool is_right = pid.ec == std::errc{} && pid.ptr == text.data() + first &&
                        bytes.ec == std::errc{} && bytes.ptr == text.data() + second;
  return is_right ? std::optional(std::move(process)) : std::nullopt;
}

std::optional<std::vector<DeviceProcess>> answer_in(std::string_view text) {
  if (text == kUnknown) return std::nullopt;
  std::vector<DeviceProcess> processes;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    auto process = process_in(entry);
    if (!process) return std::nullopt;
    processes.push_back(*std::move(process));
  }
  return processes;
}

// Returns the line with this beginning, in the note from `from` on; nothing if there is none yet.
std::optional<std::string> line_in(int note, off_t from, const std::string& beginning) {
  std::string text(kMostOfAnswer, '\0');
  const ssize_t count = pread(note, text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const std::size_t at = text.find("\n" + beginning);
  const std::size_t end = at == text.npos ? at : text.find('\n', at + 1);
  if (end == text.npos) return std::nullopt;
  const std::size_t begin = at + 1 + beginning.size();
  return text.substr(begin, end - begin);
}

}  // namespace

std::string question_line(const UseQuestion& question) {
  return kAskNote + question.number + " " + question.uuid + "\n";
}

std::optional<UseQuestion> question_in(std::string_view line) {
  if (!line.starts_with(kAskNote)) return std::nullopt;
  line.remove_prefix(std::string_view(kAskNote).size());
  const std::size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  return UseQuestion{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

std::string answer_line(const std::string& number,
                        const std::optional<std::vector<DeviceProcess>>& answer) {
  std::string text;
  for (const DeviceProcess& process : answer.value_or(std::vector<DeviceProcess>())) {
    text += (text.empty() ? "" : ",") + std::to_string(process.pid) + "=" +
            std::to_string(process.bytes) + "=" + harmless(process.name);
  }
  return kUseNote + number + " " + (answer ? text : kUnknown) + "\n";
}

std::optional<std::vector<DeviceProcess>> ask_use(const char* note, std::string_view uuid) {
  constexpr int kLooks = 500;
  constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 400'000};
  if (is_silent || uuid.empty()) return std::nullopt;
  const KeptErrno kept;
  const Uncancelled uncancelled;
  const OpenNote open(note);
  struct stat found {};
  if (open.file < 0 || fstat(open.file, &found) != 0) return std::nullopt;
  const std::string number = std::to_string(getpid()) + "." + std::to_string(++questions);
  if (!append(open.file, question_line({number, std::string(uuid)}))) return std::nullopt;
  const off_t from = found.st_size - 1;  // the newline before
  for (int i = 0; i < kLooks; ++i) {
    const auto line = line_in(open.file, from, kUseNote + number + " ");
    if (line) return answer_in(*line);
    nap(kBetweenLooks);
  }
  is_silent = true;
  return std::nullopt;
}

}  // namespace vramscope
