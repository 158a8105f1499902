// Waits for what is appended to the note.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/use_answers.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "interpose/settings/private_variables.h"
#include "interpose/settings/use_question.h"

namespace vramscope {
namespace {

using Ask = std::function<std::vector<GpuUse>()>;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

std::optional<std::vector<DeviceProcess>> users_of(const std::string& uuid, const Ask& ask) {
  for (const GpuUse& gpu : ask()) {
    if (gpu.uuid != uuid) continue;
    std::vector<DeviceProcess> users;
    for (const GpuProcess& process : gpu.processes) {
      users.push_back({process.pid, command_of(process.pid), process.bytes});
    }
    return users;
  }
  return std::nullopt;
}

// Questions in the lines that begin at `from`, which moves behind the last whole one.
std::vector<UseQuestion> new_questions(int note, off_t& from) {
  std::string text(kMostAtOnce, '\0');
  const ssize_t count = pread(note, text.data(), text.size(), from);
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  std::vector<UseQuestion> questions;
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    if (auto question = question_in(rest.substr(0, end))) questions.push_back(*std::move(question));
    from += static_cast<off_t>(end) + 1;
  }
  return questions;
}

// False: the note is gone.
bool answer_new(const std::string& note, off_t& from, const Ask& ask, std::atomic<bool>& is_asked) {
  const int file = open_note(note.c_str());
  if (file < 0) return false;
  for (const UseQuestion& question : new_questions(file, from)) {
    is_asked.store(true, std::memory_order_release);
    const std::string line = answer_line(question.number, users_of(question.uuid, ask));
    is_asked.store(false, std::memory_order_release);
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  }
  close(file);
  return true;
}

}  // namespace

void answer_questions(const std::string& note, const Ask& ask, std::atomic<bool>& is_asked) {
  const int changes = inotify_init1(IN_CLOEXEC);
  if (changes < 0) return;
  constexpr std::uint32_t kWhat = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF;
  if (inotify_add_watch(changes, note.c_str(), kWhat) >= 0) {
    off_t from = 0;
    char events[4096];
    while (answer_new(note, from, ask, is_asked) && ::read(changes, events, sizeof events) > 0) {
    }
  }
  close(changes);
}

}  // namespace vramscope
