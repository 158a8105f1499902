// The main thread waits in one kind of system call again and again, beside a thread that allocates:
// who stops the main thread meanwhile must not be noticed.
// SPDX-License-Identifier: Apache-2.0
// waits KIND: futex, poll, nanosleep, read, wait4 or epoll. Prints "ready", and at the end of its
// input "fine" with the number of waits, or what a wait returned that it should not have.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "test/programs/driver.h"

using Clock = std::chrono::steady_clock;
static std::atomic<bool> ends{false};
constexpr int kMs = 20;

// What is wrong with a wait; "": nothing.
static std::string returned(const char* call, long result, long expected) {
  if (result == expected) return "";
  return std::string(call) + " returned " + std::to_string(result) + ", errno " +
         std::to_string(errno);
}

static std::string wait_futex() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kMs * 1'000'000L;
  if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&never, &mutex, &until);
  pthread_mutex_unlock(&mutex);
  return returned("pthread_cond_timedwait", result, ETIMEDOUT);
}

static std::string wait_poll() {
  static int ends_of_pipe[2] = {-1, -1};
  if (ends_of_pipe[0] < 0 && pipe(ends_of_pipe) != 0) return "no pipe";
  pollfd one{ends_of_pipe[0], POLLIN, 0};
  return returned("poll", poll(&one, 1, kMs), 0);
}

static std::string wait_nanosleep() {
  const timespec time{0, kMs * 1'000'000L};
  return returned("nanosleep", nanosleep(&time, nullptr), 0);
}

static std::string wait_epoll() {
  static const int set = epoll_create1(0);
  epoll_event event{};
  return returned("epoll_wait", epoll_wait(set, &event, 1, kMs), 0);
}

static std::string wait_read() {
  static int ends_of_pipe[2] = {-1, -1};
  if (ends_of_pipe[0] < 0) {
    if (pipe(ends_of_pipe) != 0) return "no pipe";
    std::thread([] {
      while (write(ends_of_pipe[1], "x", 1) == 1) {
        const auto until = Clock::now() + std::chrono::milliseconds(kMs);
        while (Clock::now() < until) {  // in no system call
        }
      }
    }).detach();
  }
  char letter = 0;
  return returned("read", read(ends_of_pipe[0], &letter, 1), 1);
}

static std::string wait_wait4() {
  const pid_t child = fork();
  if (child == 0) {
    usleep(kMs * 1000);
    _exit(7);
  }
  int status = 0;
  std::string wrong = returned("wait4", waitpid(child, &status, 0), child);
  return wrong.empty() ? returned("the child", WEXITSTATUS(status), 7) : wrong;
}

// Sums that live in vector registers while the thread is stopped.
static bool adds_up() {
  double sums[8] = {};
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 8; ++k) sums[k] += 0.5 * k;
  }
  for (int k = 0; k < 8; ++k) {
    if (sums[k] != 500.0 * k) return false;
  }
  return true;
}

static void allocate_on(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  while (!ends) {
    MUST(cuMemFree(allocate(1'000'000)));
    const auto until = Clock::now() + std::chrono::milliseconds(1);
    while (Clock::now() < until && adds_up()) {
    }
  }
}

int main(int, char** arguments) {
  const std::map<std::string, std::function<std::string()>> kinds = {
      {"futex", wait_futex}, {"poll", wait_poll},   {"nanosleep", wait_nanosleep},
      {"read", wait_read},   {"wait4", wait_wait4}, {"epoll", wait_epoll}};
  const auto& wait = kinds.at(arguments[1]);
  const CUcontext context = start();
  std::thread allocator(allocate_on, context);
  std::cout << "ready" << std::endl;
  std::string wrong;
  long count = 0;
  pollfd input{0, POLLIN, 0};
  for (; wrong.empty() && poll(&input, 1, 0) == 0; ++count) wrong = wait();
  ends = true;
  allocator.join();
  if (!adds_up()) wrong = "sums are wrong";
  std::cout << (wrong.empty() ? "fine " + std::to_string(count) : wrong) << std::endl;
  return wrong.empty() ? 0 : 1;
}
