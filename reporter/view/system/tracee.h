// A Tracee is a thread of another process that this tool has stopped (ptrace(2)).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

#ifdef __x86_64__

struct ThreadState {
  user_regs_struct registers = {};
  std::vector<std::byte> extended;  // the floating point registers, as XSAVE lays them out
  std::uint64_t blocked = 0;        // signals
};

// The thread runs on when the object is destroyed, and when this process dies. Threads: the one
// that made it.
class Tracee {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Tracee(pid_t thread) noexcept : thread_(thread) {}
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  // Stops the thread. A system call that waits is interrupted, and goes on when the thread does.
  // Returns 0, or errno: EPERM if that is not allowed, ETIMEDOUT if it did not stop, EAGAIN if the
  // process is stopped by a signal.
  [[nodiscard]] int stop();

  // Both return false on failure. May throw bad_alloc.
  [[nodiscard]] bool read(ThreadState& state) const;
  [[nodiscard]] bool write(const ThreadState& state) const;

  enum class Run : std::uint8_t { at_call, late, ended };
  // Lets the thread run until it begins the system call `number` with the stack pointer `stack`.
  // late: it had not at `until`, and is stopped.
  [[nodiscard]] Run run_until_call(std::uint64_t number, std::uint64_t stack,
                                   Clock::time_point until);

 private:
  // Waits for a stop of the thread; false: it has ended, or `until` has come.
  [[nodiscard]] bool await(int& status, Clock::time_point until);

  const pid_t thread_;
  bool is_seized_ = false;
  bool is_stopped_ = false;
  bool has_ended_ = false;
};

#endif

}  // namespace vramscope
