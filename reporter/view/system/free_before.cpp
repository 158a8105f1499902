// Asks NVML in a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/free_before.h"

#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "interpose/settings/private_variables.h"
#include "reporter/view/system/nvml.h"
#include "reporter/view/system/use_answers.h"

namespace vramscope {
namespace {

std::atomic<bool> is_asked{false};

using Ask = std::function<std::vector<GpuUse>()>;

// All at once: processes of the run write there, too.
void note_free(const Ask& ask, int note) {
  std::vector<FreeBytes> devices;
  for (const GpuUse& gpu : ask()) {
    if (gpu.free_bytes) devices.push_back({gpu.uuid, *gpu.free_bytes});
  }
  if (devices.empty()) return;
  const std::string line = kFreeNote + free_before_text(devices) + "\n";
  [[maybe_unused]] const ssize_t written = write(note, line.data(), line.size());
}

// The lock is the open file's: it goes with it.
Ask answer_first(const std::string& nvml, int note) {
  struct Closing {
    int file;
    ~Closing() {
      close(file);
      is_asked.store(false, std::memory_order_release);
    }
  } const closing{note};
  Ask ask = open_nvml(nvml);
  note_free(ask, note);
  return ask;
}

void answer(const std::string& nvml, int note, const std::string& path) noexcept {
  try {
    const Ask ask = answer_first(nvml, note);
    answer_questions(path, ask, is_asked);
  } catch (const std::exception&) {  // no memory: then nobody knows
  }
}

}  // namespace

void note_free_before(const std::string& note, const std::string& nvml) {
  const int file = note.empty() ? -1 : open_note(note.c_str());
  if (file < 0) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  is_asked = true;
  try {
    if (flock(file, LOCK_EX | LOCK_NB) != 0) throw std::system_error(errno, std::system_category());
    std::thread(answer, nvml, file, note).detach();
  } catch (const std::system_error&) {  // then nobody asks
    close(file);
    is_asked = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool is_nvml_asked() noexcept { return is_asked.load(std::memory_order_acquire); }

}  // namespace vramscope
