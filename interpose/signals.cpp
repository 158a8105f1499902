// sigaction, signal and their aliases: everything passes but the signal that we took.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "interpose/lookup.h"

#define VRAMSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace vramscope {
namespace {

using Action = struct sigaction;

constexpr int kRestorer = 0x04000000;  // SA_RESTORER: the C library adds it, and it is read back

constinit std::atomic<int> taken{0};  // the signal; 0: none
constinit std::atomic<pid_t> owner{0};
using Poke = void (*)();
constinit Poke wake = nullptr;

// The program's action. The handler may run on another thread while it changes, so each change goes
// to the next slot and the number of the valid one is switched last.
constexpr unsigned kSlots = 16;
constinit std::array<Action, kSlots> slots{};
constinit std::atomic<unsigned> valid{0};

Action program_action() noexcept { return slots[valid.load(std::memory_order_acquire) % kSlots]; }

void keep_program_action(const Action& action) noexcept {
  const unsigned next = valid.load(std::memory_order_relaxed) + 1;
  slots[next % kSlots] = action;
  valid.store(next, std::memory_order_release);
}

int real_sigaction(int signal, const Action* action, Action* old) noexcept {
  static constinit std::atomic<decltype(&::sigaction)> found{nullptr};
  auto function = found.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = next_definition(&::sigaction, "sigaction");
    found.store(function, std::memory_order_release);
  }
  return function(signal, action, old);
}

bool is_function(const Action& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  if (wake != nullptr) wake();
  const Action program = program_action();
  if ((program.sa_flags & SA_RESETHAND) != 0) keep_program_action(Action{});
  errno = kept;
  if (!is_function(program)) return;
  if ((program.sa_flags & SA_SIGINFO) != 0) {
    program.sa_sigaction(signal, info, context);
  } else {
    program.sa_handler(signal);
  }
}

// Our handler under the program's mask and flags, so that delivery is as the program set it up.
void install_over(const Action& program) noexcept {
  Action ours = program;
  ours.sa_sigaction = on_signal;
  ours.sa_flags = (is_function(program) ? program.sa_flags : SA_RESTART) | SA_SIGINFO;
  ours.sa_flags &= ~SA_RESETHAND;
  real_sigaction(taken.load(std::memory_order_relaxed), &ours, nullptr);
}

// A child of vfork shares our memory but not our signal table: it must not write here.
bool is_ours(int signal) noexcept {
  return signal != 0 && signal == taken.load(std::memory_order_acquire) &&
         owner.load(std::memory_order_relaxed) == getpid();
}

int change_action(int signal, const Action* action, Action* old) noexcept {
  if (!is_ours(signal)) return real_sigaction(signal, action, old);
  const Action before = program_action();
  if (action != nullptr) {
    Action kept = *action;
    kept.sa_flags |= kRestorer;
    keep_program_action(kept);
    install_over(*action);
  }
  if (old != nullptr) *old = before;
  return 0;
}

sighandler_t change_handler(int signal, sighandler_t handler, int flags) noexcept {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  Action action{};
  Action old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, signal);
  change_action(signal, &action, &old);
  return old.sa_handler;
}

}  // namespace

void take_signal(int signal, void (*poke)()) noexcept {
  Action program{};
  if (real_sigaction(signal, nullptr, &program) != 0) return;
  wake = poke;
  owner.store(getpid(), std::memory_order_relaxed);
  keep_program_action(program);
  taken.store(signal, std::memory_order_release);
  install_over(program);
}

void return_signal() noexcept {
  const int signal = taken.exchange(0);
  if (signal == 0) return;
  const Action program = program_action();
  real_sigaction(signal, &program, nullptr);
}

InheritedSignal::InheritedSignal() noexcept {
  const int signal = taken.load(std::memory_order_acquire);
  if (signal == 0) return;
  const Action program = program_action();
  if (is_function(program) || program.sa_handler != SIG_IGN) return;
  changed_ = real_sigaction(signal, &program, nullptr) == 0;
}

InheritedSignal::~InheritedSignal() {
  if (changed_) install_over(program_action());
}

}  // namespace vramscope

VRAMSCOPE_EXPORT int sigaction(int signal, const struct sigaction* action,
                               struct sigaction* old) noexcept {
  return vramscope::change_action(signal, action, old);
}

VRAMSCOPE_EXPORT int __sigaction(int signal, const struct sigaction* action,
                                 struct sigaction* old) noexcept {
  return vramscope::change_action(signal, action, old);
}

// The aliases of signal(): each passes to the C library's function of its own name, unless the
// signal is the one that we took; then it is what that function does in terms of sigaction.
#define VRAMSCOPE_SIGNAL_ALIAS(name, flags)                                       \
  VRAMSCOPE_EXPORT sighandler_t name(int signal, sighandler_t handler) noexcept { \
    if (vramscope::is_ours(signal)) {                                             \
      return vramscope::change_handler(signal, handler, flags);                   \
    }                                                                             \
    using Function = sighandler_t(int, sighandler_t);                             \
    Function* const real = vramscope::next_definition<Function>(nullptr, #name);  \
    return real(signal, handler);                                                 \
  }
VRAMSCOPE_SIGNAL_ALIAS(signal, SA_RESTART)
VRAMSCOPE_SIGNAL_ALIAS(bsd_signal, SA_RESTART)
VRAMSCOPE_SIGNAL_ALIAS(ssignal, SA_RESTART)
VRAMSCOPE_SIGNAL_ALIAS(sysv_signal, SA_RESETHAND | SA_NODEFER)
VRAMSCOPE_SIGNAL_ALIAS(__sysv_signal, SA_RESETHAND | SA_NODEFER)
