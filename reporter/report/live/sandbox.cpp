// Runs a child process with limits, and a pipe for its answer.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kGood = '+';
constexpr char kBad = '-';
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of an answer

void limit(__rlimit_resource what, std::uint64_t most) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(most, now.rlim_max);
  setrlimit(what, &now);
}

std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void put(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(pipe, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void answer(int pipe, const ApartLimits& limits,
                         const std::function<std::string()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU}) {
    std::signal(signal, SIG_DFL);
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_AS, mapped_bytes() + limits.address_bytes);
  std::string text;
  try {
    text = kGood + work();
  } catch (const std::bad_alloc&) {
    text = std::string(1, kBad) + "there is not enough memory for it";
  } catch (const std::exception& error) {
    text = std::string(1, kBad) + error.what();
  }
  put(pipe, text);
  _exit(0);
}

// Reads the pipe until it is closed. Returns false if that takes too long, or if there is too much.
bool take_all(int pipe, unsigned seconds, std::string& text) {
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  std::array<char, 4096> part;
  while (text.size() <= kMostBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waited{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return false;
}

std::string how_it_ended(int status, bool in_time) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (!in_time || signal == SIGXCPU) return "reading it takes too long";
  const std::string begin = "reading it ended with ";
  if (signal == 0) return begin + "status " + std::to_string(WEXITSTATUS(status));
  const char* const name = sigabbrev_np(signal);
  return begin + (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal));
}

}  // namespace

ApartAnswer run_apart(const ApartLimits& limits, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {.text = {}, .problem = std::strerror(errno)};
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    for (const int end : ends) close(end);
    return {.text = {}, .problem = std::strerror(error)};
  }
  if (child == 0) {
    close(ends[0]);
    answer(ends[1], limits, work);
  }
  close(ends[1]);
  std::string text;
  const bool in_time = take_all(ends[0], limits.wait_seconds, text);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool whole = in_time && !text.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!whole) return {.text = {}, .problem = how_it_ended(status, in_time)};
  if (text[0] == kBad) return {.text = {}, .problem = text.substr(1)};
  return {.text = text.substr(1), .problem = {}};
}

}  // namespace vramscope
