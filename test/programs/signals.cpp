// A program that uses SIGUSR1 in its own way must not notice that it is used by others as well.
// SPDX-License-Identifier: Apache-2.0
// Argument: sigset, hold, siginterrupt, resethand, nodefer, onstack, smallstack, blocked, longjmp,
// sigwait, signalfd, ignore, later, inherited, storm, change or before.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static const char* way;
static std::atomic<int> calls{0}, depth{0}, deepest{0};
static bool is(const char* name) { return std::strcmp(way, name) == 0; }

static void handler(int) { calls = calls + 1; }
static void other_handler(int) { calls = calls + 100; }
static void show_calls(const char* when) {
  std::printf("%s: %d calls\n", when, static_cast<int>(calls));
}

static void install(void (*function)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = function;
  action.sa_flags = flags;
  sigfillset(&action.sa_mask);
  if ((flags & SA_NODEFER) != 0) sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
}

static void query(const char* when) {
  struct sigaction seen {};
  sigaction(SIGUSR1, nullptr, &seen);
  std::printf("%s: own %d, default %d, ignored %d, flags %x, masks USR2 %d, KILL %d\n", when,
              seen.sa_handler == handler, seen.sa_handler == SIG_DFL, seen.sa_handler == SIG_IGN,
              static_cast<unsigned>(seen.sa_flags), sigismember(&seen.sa_mask, SIGUSR2),
              sigismember(&seen.sa_mask, SIGKILL));
}

static const char* name(sighandler_t function) {
  if (function == SIG_DFL) return "default";
  if (function == SIG_IGN) return "ignored";
  if (function == SIG_HOLD) return "held";
  if (function == handler) return "handler";
  return function == SIG_ERR ? "error" : "other";
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void use_sigset() {
  std::printf("before: %s\n", name(sigset(SIGUSR1, handler)));
  raise(SIGUSR1);
  std::printf("hold: %s\n", name(sigset(SIGUSR1, SIG_HOLD)));
  raise(SIGUSR1);
  show_calls("held");
  std::printf("again: %s\n", name(sigset(SIGUSR1, handler)));
  show_calls("released");
  std::printf("ignore: %d\n", sigignore(SIGUSR1));
  raise(SIGUSR1);
  query("ignored");
}

// A system call that is not restarted: signals come until one finds the thread in it.
static void read_while_signalled() {
  int ends[2];
  if (pipe(ends) != 0) std::exit(3);
  std::atomic<bool> done{false};
  const pthread_t reader = pthread_self();
  std::thread sender([&] {
    while (!done) pthread_kill(reader, SIGUSR1), usleep(1000);
  });
  char byte = 0;
  const ssize_t got = read(ends[0], &byte, 1);
  std::printf("read %d, interrupted %d\n", static_cast<int>(got), errno == EINTR);
  done = true;
  sender.join();
}

static void use_siginterrupt() {
  std::signal(SIGUSR1, handler);
  siginterrupt(SIGUSR1, 1);
  query("interrupting");
  read_while_signalled();
  std::signal(SIGUSR1, handler);  // remembers
  query("again");
  siginterrupt(SIGUSR1, 0);
  query("restarting");
}

static void nested(int) {
  calls = calls + 1;
  depth = depth + 1;
  if (depth > deepest) deepest = static_cast<int>(depth);
  if (calls < 3) raise(SIGUSR1);
  depth = depth - 1;
}

static char* stack_begin;
static constexpr std::size_t kStackBytes = 65536;
static void on_own_stack(int) {
  const char here = 0;
  const auto offset = static_cast<std::size_t>(&here - stack_begin);
  std::printf("on the signal stack: %d\n", offset < kStackBytes);
}
static void use_onstack() {
  stack_begin = new char[kStackBytes];
  stack_t stack{};
  stack.ss_sp = stack_begin;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
  install(on_own_stack, SA_ONSTACK);
  raise(SIGUSR1);
}

// As small as the kernel takes one, with a page behind it that nobody may touch.
static void use_small_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t least = static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ)) + 1024;
  const std::size_t bytes = (least + page - 1) / page * page;
  void* const memory = mmap(nullptr, page + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const stack_bytes = static_cast<char*>(memory) + page;
  if (memory == MAP_FAILED || mprotect(stack_bytes, bytes, PROT_READ | PROT_WRITE) != 0) return;
  stack_t stack{};
  stack.ss_sp = stack_bytes + bytes - least;
  stack.ss_size = least;
  std::printf("small stack: %d\n", sigaltstack(&stack, nullptr));
  install(handler, SA_ONSTACK);
  for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  show_calls("on a small stack");
}

static sigset_t only_usr1();
static void stay_blocked() {
  const sigset_t set = only_usr1();
  install(handler, SA_RESTART);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (int i = 0; i < 5; ++i) kill(getpid(), SIGUSR1);
  MUST(cuMemFree(allocate(kMiB)));
  show_calls("blocked");
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  show_calls("let in");
}

static sigjmp_buf target;
static void jump(int) { siglongjmp(target, 1); }
static void use_longjmp() {
  install(jump, 0);
  volatile int jumps = 0;
  if (sigsetjmp(target, 1) != 0) jumps = jumps + 1;
  MUST(cuMemFree(allocate(kMiB)));
  if (jumps < 5) raise(SIGUSR1);
  std::printf("jumps: %d\n", jumps);
}

static sigset_t only_usr1() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return set;
}

static void use_sigwait() {
  const sigset_t set = only_usr1();
  for (int i = 0; i < 3; ++i) {
    kill(getpid(), SIGUSR1);
    int got = 0;
    std::printf("waited: %d\n", sigwait(&set, &got) == 0 && got == SIGUSR1);
  }
}

static void use_signalfd() {
  const sigset_t set = only_usr1();
  const int file = signalfd(-1, &set, 0);
  kill(getpid(), SIGUSR1);
  signalfd_siginfo got{};
  const bool whole = read(file, &got, sizeof got) == sizeof got;
  std::printf("read from the descriptor: %d\n", whole && got.ssi_signo == SIGUSR1);
}

// What a new program inherits, by every way to start one.
static void show_inherited(const char* how, int status) {
  std::printf("%s: ignored %d\n", how, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  std::fflush(stdout);
}
static const char kAsk[] =
    "while read -r key value; do "
    "[ \"$key\" = SigIgn: ] && exit $(( (0x$value >> 9) & 1 )); done < /proc/self/status";
static void show_children() {
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                             const_cast<char*>(kAsk), nullptr};
  std::fflush(stdout);
  int status = 0;
  pid_t child = fork();
  if (child == 0) execv("/bin/sh", arguments);
  waitpid(child, &status, 0);
  show_inherited("fork", status);
  child = vfork();
  if (child == 0) execv("/bin/sh", arguments);
  waitpid(child, &status, 0);
  show_inherited("vfork", status);
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0) {
    waitpid(child, &status, 0);
  }
  show_inherited("posix_spawn", status);
  show_inherited("system", std::system(kAsk));
  FILE* pipe = popen(kAsk, "r");
  show_inherited("popen", pclose(pipe));
}

// While it is ignored it interrupts nothing, not even poll, which is never restarted.
static void stay_ignored() {
  query("ignored");
  const pthread_t self = pthread_self();
  std::thread sender([self] {
    for (int i = 0; i < 20; ++i) pthread_kill(self, SIGUSR1), usleep(1000);
  });
  std::printf("poll: %d\n", poll(nullptr, 0, 50));
  sender.join();
  show_children();
  install(handler, SA_RESTART);
  raise(SIGUSR1);
  query("handled");
  show_children();
  std::signal(SIGUSR1, SIG_IGN);
  query("ignored again");
  show_children();
}

// Thousands of signals from another thread while threads allocate. Equal ones that are pending
// become one, natively too; the last is never lost.
static void endure_storm() {
  install(handler, SA_RESTART);
  std::atomic<bool> stop{false};
  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent(&context));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      MUST(cuCtxSetCurrent(context));
      for (std::size_t i = 1; !stop; ++i) MUST(cuMemFree(allocate(i % 64 * 4096 + 1)));
    });
  }
  for (int i = 0; i < 3000; ++i) {
    const int before = calls;
    kill(getpid(), SIGUSR1);
    while (i % 10 == 0 && calls == before) sched_yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("handler ran: %d\n", calls >= 300);
}

// Handlers are changed while signals arrive: each arrival finds one of them.
static void change_often() {
  install(handler, SA_RESTART);
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop) kill(getpid(), SIGUSR1);
  });
  for (int i = 0; i < 2000 || i % 2 == 1 || calls == 0; ++i)
    install(i % 2 == 0 ? other_handler : handler, SA_RESTART);
  stop = true;
  sender.join();
  query("after many changes");
  std::printf("handlers ran: %d\n", calls > 0);
}

static void use_driver() {
  start();
  MUST(cuMemFree(allocate(kMiB)));
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "storm";
  const sigset_t set = only_usr1();
  if (is("sigwait") || is("signalfd")) pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (is("ignore")) std::signal(SIGUSR1, SIG_IGN);
  if (is("before")) {  // nobody took the signal yet: the default action ends the program
    std::printf("refused: %d\n", cuInit(1) != CUDA_SUCCESS);
    std::fflush(stdout);
    raise(SIGUSR1);
  }
  use_driver();
  if (is("later")) std::signal(SIGUSR1, SIG_IGN);
  if (is("sigset")) use_sigset();
  if (is("siginterrupt")) use_siginterrupt();
  if (is("resethand")) {
    install(handler, static_cast<int>(SA_RESETHAND));
    query("once");
    raise(SIGUSR1);
    query("used");
    show_calls("once");
  }
  if (is("nodefer") || is("defer")) {
    install(nested, is("nodefer") ? SA_NODEFER : 0);
    raise(SIGUSR1);
    std::printf("calls %d, deepest %d\n", static_cast<int>(calls), static_cast<int>(deepest));
  }
  if (is("onstack")) use_onstack();
  if (is("smallstack")) use_small_stack();
  if (is("blocked")) stay_blocked();
  if (is("longjmp")) use_longjmp();
  if (is("sigwait")) use_sigwait();
  if (is("signalfd")) use_signalfd();
  if (is("ignore") || is("later") || is("inherited")) stay_ignored();
  if (is("storm")) endure_storm();
  if (is("change")) change_often();
  MUST(cuMemFree(allocate(kMiB)));
}
