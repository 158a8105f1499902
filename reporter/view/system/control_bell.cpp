// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/control_bell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <thread>

#include "reporter/report/files/process_stat.h"
#include "reporter/report/live/live_proof.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(10);  // the helper may be writing a report
constexpr auto kLookAgain = std::chrono::milliseconds(2);
constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(LiveHeader) <= kHeaderBytes);

std::string named(const RunningProcess& process) {
  return "process " + std::to_string(process.pid);
}

bool is_stopped(std::int64_t pid) {
  const char state = process_stat(("/proc/" + std::to_string(pid) + "/stat").c_str()).state;
  return state == 'T' || state == 't';
}

}  // namespace

// A copy of LiveControl.
struct ControlBell::State {
  std::uint32_t asked = 0;
  std::uint32_t answered = 0;
  std::uint32_t problem = 0;
  LiveControl::State state = LiveControl::State::unattended;
  std::array<char, sizeof(LiveControl::path)> path{};
};

ControlBell::ControlBell(const RunningProcess& process)
    : process_(process), file_(process.live_file) {
  const std::string begin = named(process) + " cannot be reached: its live file ";
  const LiveProof proof = file_.problem().empty() ? proof_of(file_) : LiveProof{};
  if (!file_.problem().empty()) {
    problem_ = begin + file_.problem();
  } else if (proof.what != LiveProof::What::whole) {
    problem_ = begin + "is not one of this version: " + proof.why;
  } else if (proof.state == OwnerState::dead) {
    problem_ = named(process) + " has ended";
  }
  if (!problem_.empty()) return;
  const std::string own = "/proc/self/fd/" + std::to_string(file_.number());
  const int file = open(own.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    problem_ = begin + "cannot be opened for writing: " + std::strerror(errno);
  } else {
    header_ = static_cast<std::byte*>(mapped);
  }
  if (file >= 0) close(file);
}

ControlBell::~ControlBell() {
  if (header_ != nullptr) munmap(header_, kHeaderBytes);
}

bool ControlBell::read(State& state) const {
  const auto take = [&](auto& value, std::size_t offset) {
    return pread(file_.number(), &value, sizeof value,
                 static_cast<off_t>(offsetof(LiveHeader, control) + offset)) ==
           static_cast<ssize_t>(sizeof value);
  };
  const bool is_read = take(state.answered, offsetof(LiveControl, answered)) &&
                       take(state.asked, offsetof(LiveControl, asked)) &&
                       take(state.state, offsetof(LiveControl, state)) &&
                       take(state.problem, offsetof(LiveControl, problem)) &&
                       take(state.path, offsetof(LiveControl, path));
  state.path.back() = '\0';
  return is_read;
}

// The kernel adds one and wakes who waits, in one step, and fails without a fault.
void ControlBell::raise(std::size_t word) const {
  std::byte* const at = header_ + offsetof(LiveHeader, control) + word;
  constexpr int kAddOne = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);
  syscall(SYS_futex, at, FUTEX_WAKE_OP, INT_MAX, 0, at, kAddOne);
}

std::string ControlBell::why_no_socket(const State& state) {
  const std::string snapshot =
      "; vramscope snapshot " + std::to_string(process_.pid) + " still makes a report";
  switch (state.state) {
    case LiveControl::State::open:
      path_ = state.path.data();
      return "";
    case LiveControl::State::failed:
      return named(process_) +
             " cannot make a socket: " + std::strerror(static_cast<int>(state.problem)) + snapshot;
    case LiveControl::State::off:
      return named(process_) + " was started with --control off" + snapshot;
    case LiveControl::State::unattended:
      return named(process_) + " has no thread that could answer" + snapshot;
    case LiveControl::State::closed:
      break;
  }
  return named(process_) + " is ending";
}

std::string ControlBell::ring() {
  const Clock::time_point begun = Clock::now();
  State state;
  if (!problem_.empty()) return problem_;
  if (!read(state)) return named(process_) + " cannot be reached: its live file was cut off";
  using Known = LiveControl::State;
  if (state.state == Known::off || state.state == Known::unattended) return why_no_socket(state);
  const std::uint32_t before = state.asked;
  raise(offsetof(LiveControl, asked));
  raise(offsetof(LiveControl, bell));
  while (Clock::now() - begun < kPatience) {
    if (read(state) && static_cast<std::int32_t>(state.answered - before) > 0) {
      return why_no_socket(state);
    }
    if (proof_of(file_).state == OwnerState::dead) return named(process_) + " has ended";
    const bool is_late = Clock::now() - begun > kPatience / 10;
    if (is_late && is_stopped(process_.pid))
      return named(process_) + " is stopped and answers nobody";
    std::this_thread::sleep_for(kLookAgain);
  }
  return named(process_) + " did not answer within 10 s; its helper thread is at work";
}

}  // namespace vramscope
