// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/tracee.h"

#ifdef __x86_64__

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace vramscope {
namespace {

constexpr auto kStopLimit = std::chrono::seconds(1);
constexpr auto kLookAgain = std::chrono::microseconds(200);
constexpr std::size_t kMostExtendedBytes = 1 << 15;
constexpr int kSystemCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

bool is_event_stop(int status) { return status >> 16 == PTRACE_EVENT_STOP; }

}  // namespace

Tracee::~Tracee() {
  if (!is_seized_ || has_ended_) return;
  int status = 0;
  if (!is_stopped_) {
    ptrace(PTRACE_INTERRUPT, thread_, 0, 0);
    if (!await(status, Clock::now() + kStopLimit)) return;  // the end of this process lets it go
  }
  ptrace(PTRACE_DETACH, thread_, 0, 0);
}

bool Tracee::await(int& status, Clock::time_point until) {
  do {
    const pid_t found = waitpid(thread_, &status, __WALL | WNOHANG);
    if (found == thread_) {
      has_ended_ = !WIFSTOPPED(status);
      is_stopped_ = !has_ended_;
      return is_stopped_;
    }
    if (found < 0 && errno != EINTR) {
      has_ended_ = true;
      return false;
    }
    std::this_thread::sleep_for(kLookAgain);
  } while (Clock::now() < until);
  return false;
}

int Tracee::stop() {
  if (ptrace(PTRACE_SEIZE, thread_, 0, PTRACE_O_TRACESYSGOOD) != 0) return errno;
  is_seized_ = true;
  if (ptrace(PTRACE_INTERRUPT, thread_, 0, 0) != 0) return errno;
  const auto until = Clock::now() + kStopLimit;
  int status = 0;
  while (await(status, until)) {
    if (is_event_stop(status)) return WSTOPSIG(status) == SIGTRAP ? 0 : EAGAIN;
    is_stopped_ = false;
    ptrace(PTRACE_CONT, thread_, 0, WSTOPSIG(status));  // a signal that arrived meanwhile
  }
  return has_ended_ ? ESRCH : ETIMEDOUT;
}

bool Tracee::read(ThreadState& state) const {
  iovec general{&state.registers, sizeof state.registers};
  if (ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &general) != 0) return false;
  state.extended.resize(kMostExtendedBytes);
  iovec extended{state.extended.data(), state.extended.size()};
  if (ptrace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &extended) != 0) return false;
  state.extended.resize(extended.iov_len);
  return ptrace(PTRACE_GETSIGMASK, thread_, sizeof state.blocked, &state.blocked) == 0;
}

bool Tracee::write(const ThreadState& state) const {
  ThreadState copy = state;
  iovec general{&copy.registers, sizeof copy.registers};
  iovec extended{copy.extended.data(), copy.extended.size()};
  return ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &general) == 0 &&
         ptrace(PTRACE_SETREGSET, thread_, NT_X86_XSTATE, &extended) == 0 &&
         ptrace(PTRACE_SETSIGMASK, thread_, sizeof copy.blocked, &copy.blocked) == 0;
}

Tracee::Run Tracee::run_until_call(std::uint64_t number, std::uint64_t stack,
                                   Clock::time_point until) {
  for (int signal = 0;;) {
    is_stopped_ = false;
    ptrace(PTRACE_SYSCALL, thread_, 0, signal);
    signal = 0;
    int status = 0;
    if (!await(status, until)) return has_ended_ ? Run::ended : Run::late;
    if (WSTOPSIG(status) != kSystemCall) {
      if (!is_event_stop(status)) signal = WSTOPSIG(status);
      continue;
    }
    user_regs_struct now{};
    iovec part{&now, sizeof now};
    if (ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &part) != 0) continue;
    if (now.orig_rax == number && now.rsp == stack) return Run::at_call;
  }
}

}  // namespace vramscope

#endif
