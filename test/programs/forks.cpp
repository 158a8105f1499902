// Children of every make, while other threads allocate; none may hang or disturb the parent.
// SPDX-License-Identifier: Apache-2.0
// Argument: threads, exec, prepare, clone, vfork, spawn, system, daemon, handler or early.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static const char* way;
static std::atomic<bool> stop{false};
static CUdeviceptr held;

static bool is(const char* name) { return std::strcmp(way, name) == 0; }

// How a child ended, as one line.
static void wait_for(const char* what, pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) status = -1;
  std::printf("%s: exit %d, signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  std::fflush(stdout);
}

// As a library with a cache of its own does: it calls CUDA under its lock, which its fork handler
// takes; another handler calls CUDA. First come, first served: who forks must not wait forever.
static std::atomic<unsigned> tickets{0}, served{0};
static void lock_cache() {
  const unsigned mine = tickets++;
  while (served != mine) sched_yield();
}
static void unlock_cache() { ++served; }
static void allocate_before_fork() { MUST(cuMemFree(allocate(3 * kMiB))); }

static void keep_allocating(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  for (std::size_t i = 1; !stop; ++i) {
    if (is("prepare")) lock_cache();
    MUST(cuMemFree(allocate(i % 64 * 4096 + 1)));
    if (is("prepare")) unlock_cache();
  }
}

// What a child of a program that used CUDA does: nothing that needs the driver to work.
static void in_child(int status) {
  CUdeviceptr block = 0;
  cuMemAlloc(&block, kMiB);
  cuMemFree(held);
  std::string text(100000, 'x');  // the heap works
  std::exit(status + (text.size() == 100000 ? 0 : 50));
}

static void fork_often(bool executes) {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0 && executes) execl("/bin/true", "true", nullptr);
    if (child == 0) in_child(i);
    wait_for("child", child);
  }
}

// Holds the loader's lock most of the time: a lookup that finds nothing searches every library.
static void keep_looking() {
  while (!stop) {
    if (dlsym(RTLD_DEFAULT, "no_such_function") != nullptr) std::printf("it is there\n");
  }
}

// A fork that runs no fork handlers. The child gets its own copy of all memory, with locks that
// other threads hold.
static pid_t raw_clone() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

static pid_t vfork_and_execute(const char* path) {
  const pid_t child = vfork();
  if (child == 0) execl(path, path, nullptr);
  if (child == 0) _exit(20);
  return child;
}

static void start_daemon() {
  int result[2];
  if (pipe(result) != 0) std::exit(3);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    const int report = dup2(result[1], 1000);
    for (int file = 0; file < 1000; ++file) close(file);
    start();
    allocate(5 * kMiB);
    const int first = open("/dev/null", O_RDONLY);  // numbers are the lowest free ones, as ever
    const std::string text = "daemon's first file: " + std::to_string(first) + "\n";
    if (write(report, text.data(), text.size()) < 0) _exit(1);
    std::thread([] {  // prints on, to nowhere
      while (write(STDERR_FILENO, "lost", 4) != 4) {
      }
    })
        .detach();
    std::exit(0);  // the pipe ends with the daemon
  }
  close(result[1]);
  wait_for("first child", child);
  char byte = 0;
  while (read(result[0], &byte, 1) == 1) std::putchar(byte);
}

static void spawn_children() {
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                             const_cast<char*>("exit 7"), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0) {
    wait_for("spawned", child);
  }
  if (posix_spawnp(&child, "sh", nullptr, nullptr, arguments, environ) == 0) {
    wait_for("spawned by name", child);
  }
  std::printf("absent: %d\n",
              posix_spawn(&child, "/dev/null/program", nullptr, nullptr, arguments, environ));
}

static void run_commands() {
  std::fflush(stdout);
  std::printf("system: %d\n", WEXITSTATUS(std::system("exit 6")));
  FILE* pipe = popen("echo from the pipe; exit 5", "r");
  char line[100] = "";
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) std::printf("%s", line);
  std::printf("pclose: %d\n", pipe == nullptr ? -1 : WEXITSTATUS(pclose(pipe)));
}

// fork from a signal handler, wherever it interrupts the thread.
static volatile sig_atomic_t forked, children_well;
static void fork_in_handler(int) {
  const int kept = errno;
  const pid_t child = _Fork();  // fork itself may not be called here
  if (child == 0) _exit(4);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 4) children_well = children_well + 1;
  forked = forked + 1;
  errno = kept;
}

static void fork_from_handlers() {
  struct sigaction action {};
  action.sa_handler = fork_in_handler;
  sigaction(SIGUSR2, &action, nullptr);
  const pthread_t target = pthread_self();
  std::thread sender([target] {
    for (int i = 0; i < 50; ++i) {
      pthread_kill(target, SIGUSR2);
      while (forked == i) sched_yield();
    }
  });
  for (std::size_t i = 1; forked < 50; ++i) MUST(cuMemFree(allocate(i % 64 * 4096 + 1)));
  sender.join();
  std::printf("children that ended well: %d\n", static_cast<int>(children_well));
}

static void make_children(CUcontext context) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(keep_allocating, context);
  if (is("threads")) std::thread(fork_often, false).join();
  if (is("exec")) fork_often(true);
  if (is("prepare")) fork_often(false);
  if (is("spawn")) spawn_children();
  if (is("system")) run_commands();
  if (is("clone")) threads.emplace_back(keep_looking);
  for (int i = 0; is("clone") && i < 20; ++i) {
    const pid_t child = raw_clone();
    if (child == 0) _exit(30 + i);
    wait_for("clone", child);
  }
  for (int i = 0; is("vfork") && i < 20; ++i) {
    wait_for("vfork", vfork_and_execute(i % 2 == 0 ? "/bin/true" : "/dev/null/program"));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "threads";
  if (is("daemon")) {
    start_daemon();
    return 0;
  }
  if (is("early")) {  // fork before the driver starts: the child may use it
    const pid_t child = fork();
    if (child == 0) return start(), allocate(2 * kMiB) != 0 ? 12 : 13;
    wait_for("child with a driver", child);
  }
  if (is("prepare")) pthread_atfork(lock_cache, unlock_cache, unlock_cache);
  if (is("prepare")) pthread_atfork(allocate_before_fork, nullptr, nullptr);
  const CUcontext context = start();
  held = allocate(kMiB);
  if (is("prepare")) pthread_atfork(allocate_before_fork, nullptr, nullptr);
  std::fflush(stdout);
  if (is("handler")) {
    fork_from_handlers();
  } else {
    make_children(context);
  }
  MUST(cuMemFree(held));
  std::printf("parent goes on\n");
}
