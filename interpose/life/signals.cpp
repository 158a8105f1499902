// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/signals.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "allocator/base/fault.h"
#include "interpose/loader/loader.h"

#define VRAMSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace vramscope {
namespace {

using Action = struct sigaction;

// SA_RESTORER: the C library of x86-64 adds it, and reading the action returns it. On aarch64 it
// does not; a program that sets what it has read would make its handlers return to address 0.
#ifdef __aarch64__
constexpr int kRestorer = 0;
#else
constexpr int kRestorer = 0x04000000;
#endif

constinit std::atomic<int> taken{0};  // the signal; 0: none
constinit std::atomic<pid_t> owner{0};
constinit std::atomic<bool> interrupts{false};  // the program's argument to siginterrupt
using Poke = void (*)();
constinit Poke wake = nullptr;
constinit Poke tell_change = nullptr;

// The program's action. The handler may run on another thread during a change, so a change is
// written to the next slot before the number of the valid slot is switched.
constexpr unsigned kSlots = 16;
constinit std::array<Action, kSlots> slots{};
constinit std::atomic<unsigned> valid{0};

Action program_action() noexcept { return slots[valid.load(std::memory_order_acquire) % kSlots]; }

void keep_program_action(const Action& action) noexcept {
  const unsigned next = valid.load(std::memory_order_relaxed) + 1;
  slots[next % kSlots] = action;
  valid.store(next, std::memory_order_release);
}

// One thread at a time changes the action, with every signal blocked, since a handler must not wait
// for the thread that it interrupted.
class Change {
 public:
  Change() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Change() {
    busy_.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  static inline constinit std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  sigset_t before_;
};

// The C library's functions.
namespace next {
constinit NextDefinition<int(int, const Action*, Action*)> sigaction{"sigaction"};
constinit NextDefinition<int(int, int)> siginterrupt{"siginterrupt"};
using SetHandler = NextDefinition<sighandler_t(int, sighandler_t)>;
constinit SetHandler signal{"signal"};
constinit SetHandler bsd_signal{"bsd_signal"};
constinit SetHandler ssignal{"ssignal"};
constinit SetHandler sysv_signal{"sysv_signal"};
constinit SetHandler __sysv_signal{"__sysv_signal"};
constinit SetHandler sigset{"sigset"};
}  // namespace next

__attribute__((constructor)) void find_next_definitions() {
  find_now(next::sigaction, next::siginterrupt, next::signal, next::bsd_signal, next::ssignal,
           next::sysv_signal, next::__sysv_signal, next::sigset);
}

int real_sigaction(int signal, const Action* action, Action* old) noexcept {
  return next::sigaction.get()(signal, action, old);
}

bool is_function(const Action& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// Returns the program's action for a signal that arrived. SA_RESETHAND applies to one arrival only:
// of two threads that get the signal, one finds the default action.
Action take_program_action(bool own) noexcept {
  const Action seen = program_action();
  if (!own || !is_function(seen) || (seen.sa_flags & SA_RESETHAND) == 0) return seen;
  const Change change;
  const Action taken_now = program_action();
  if (is_function(taken_now) && (taken_now.sa_flags & SA_RESETHAND) != 0) {
    Action after = taken_now;
    after.sa_handler = SIG_DFL;  // like the kernel; flags and mask stay
    keep_program_action(after);
  }
  return taken_now;
}

// For a child that has only our handler (vfork, clone).
void act_by_default(int signal) noexcept {
  const Action standard{};
  real_sigaction(signal, &standard, nullptr);
  raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  const bool own = owner.load(std::memory_order_relaxed) == getpid();
  if (own && wake != nullptr) wake();
  const Action program = take_program_action(own);
  if (!own && program.sa_handler == SIG_DFL) act_by_default(signal);
  errno = kept;
  if (!is_function(program) || fault(Fault::handler_not_chained)) return;
  if ((program.sa_flags & SA_SIGINFO) != 0) {
    program.sa_sigaction(signal, info, context);
  } else {
    program.sa_handler(signal);
  }
}

// Installs our handler with the program's mask and flags, so that signals are delivered as the
// program expects. An ignored signal stays ignored: it interrupts no system call, and children
// inherit that.
void install_over(const Action& program) noexcept {
  Action ours = program;
  if (program.sa_handler != SIG_IGN) {
    ours.sa_sigaction = on_signal;
    ours.sa_flags = (is_function(program) ? program.sa_flags : SA_RESTART) | SA_SIGINFO;
    ours.sa_flags &= ~SA_RESETHAND;
  }
  real_sigaction(taken.load(std::memory_order_relaxed), &ours, nullptr);
}

// A child of vfork shares our memory but not our signal table, so it must not write here.
bool is_ours(int signal) noexcept {
  return signal != 0 && signal == taken.load(std::memory_order_acquire) &&
         owner.load(std::memory_order_relaxed) == getpid();
}

// Hides our handler from a child that inherited it.
void hide_handler(int signal, Action* old) noexcept {
  if (signal != taken.load(std::memory_order_acquire) || old == nullptr) return;
  if (old->sa_sigaction == on_signal) *old = program_action();
}

int change_action(int signal, const Action* action, Action* old) noexcept {
  if (!is_ours(signal)) {
    const int result = real_sigaction(signal, action, old);
    if (result == 0) hide_handler(signal, old);
    return result;
  }
  const Change change;
  const Action before = program_action();
  if (action != nullptr) {
    Action kept = *action;
    kept.sa_flags |= kRestorer;
    sigdelset(&kept.sa_mask, SIGKILL);  // like the kernel
    sigdelset(&kept.sa_mask, SIGSTOP);
    keep_program_action(kept);
    install_over(*action);
    if (tell_change != nullptr) tell_change();
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
  action.sa_flags = interrupts.load(std::memory_order_relaxed) ? flags & ~SA_RESTART : flags;
  if ((flags & SA_RESTART) != 0) sigaddset(&action.sa_mask, signal);
  change_action(signal, &action, &old);
  return old.sa_handler;
}

// sigset: the mask changes too.
sighandler_t hold_or_set(int signal, sighandler_t handler) noexcept {
  sigset_t only;
  sigset_t before;
  sigemptyset(&only);
  sigaddset(&only, signal);
  Action old{};
  if (handler == SIG_HOLD) {
    pthread_sigmask(SIG_BLOCK, &only, &before);
    change_action(signal, nullptr, &old);
  } else {
    Action action{};
    action.sa_handler = handler;
    change_action(signal, &action, &old);
    pthread_sigmask(SIG_UNBLOCK, &only, &before);
  }
  return sigismember(&before, signal) == 1 ? SIG_HOLD : old.sa_handler;
}

// The C library has changed SA_RESTART of our handler.
void note_interrupts(bool interrupt) noexcept {
  const Change change;
  interrupts.store(interrupt, std::memory_order_relaxed);
  Action action = program_action();
  action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  keep_program_action(action);
  install_over(action);
}

}  // namespace

void take_signal(int signal, void (*poke)(), void (*changed)()) noexcept {
  const Change change;
  Action program{};
  if (real_sigaction(signal, nullptr, &program) != 0) return;
  wake = poke;
  tell_change = changed;
  owner.store(getpid(), std::memory_order_relaxed);
  keep_program_action(program);
  taken.store(signal, std::memory_order_release);
  install_over(program);
  changed();
}

bool program_handles_signal() noexcept {
  return taken.load(std::memory_order_acquire) != 0 && is_function(program_action());
}

void return_signal() noexcept {
  const int signal = taken.exchange(0);
  if (signal == 0) return;
  const Action program = program_action();
  Action now{};
  // A program that does not call our functions may have set its own meanwhile.
  if (real_sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction != on_signal) return;
  real_sigaction(signal, &program, nullptr);
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

// The aliases of signal(). Each calls the C library's function of its name, unless the signal is
// the one that we took; then it does the same in terms of sigaction.
#define VRAMSCOPE_SIGNAL_ALIAS(name, change)                                      \
  VRAMSCOPE_EXPORT sighandler_t name(int signal, sighandler_t handler) noexcept { \
    if (vramscope::is_ours(signal)) return vramscope::change;                     \
    struct sigaction old {};                                                      \
    old.sa_handler = vramscope::next::name.get()(signal, handler);                \
    vramscope::hide_handler(signal, &old);                                        \
    return old.sa_handler;                                                        \
  }
VRAMSCOPE_SIGNAL_ALIAS(signal, change_handler(signal, handler, SA_RESTART))
VRAMSCOPE_SIGNAL_ALIAS(bsd_signal, change_handler(signal, handler, SA_RESTART))
VRAMSCOPE_SIGNAL_ALIAS(ssignal, change_handler(signal, handler, SA_RESTART))
VRAMSCOPE_SIGNAL_ALIAS(sysv_signal, change_handler(signal, handler, SA_RESETHAND | SA_NODEFER))
VRAMSCOPE_SIGNAL_ALIAS(__sysv_signal, change_handler(signal, handler, SA_RESETHAND | SA_NODEFER))
VRAMSCOPE_SIGNAL_ALIAS(sigset, hold_or_set(signal, handler))

VRAMSCOPE_EXPORT int sigignore(int signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  return vramscope::change_action(signal, &action, nullptr);
}

VRAMSCOPE_EXPORT int siginterrupt(int signal, int interrupt) noexcept {
  const int result = vramscope::next::siginterrupt.get()(signal, interrupt);
  if (result == 0 && vramscope::is_ours(signal)) vramscope::note_interrupts(interrupt != 0);
  return result;
}
