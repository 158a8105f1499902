// Asks in a forked child, which a broken driver may end or hold up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/driver_answer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "reporter/view/system/library_search.h"

namespace vramscope {
namespace {

// What the child writes: plain values.
struct Said {
  bool is_loaded = false;
  int version = 0;
  int code = 0;
  int devices = 0;
  std::array<char, 64> name{};
};

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

Said start(void* library) {
  Said said;
  if (auto* const version = find<int(int*)>(library, "cuDriverGetVersion")) {
    version(&said.version);
  }
  auto* const init = find<int(unsigned)>(library, "cuInit");
  said.code = init == nullptr ? -1 : init(0);
  const char* name = nullptr;
  auto* const name_of = find<int(int, const char**)>(library, "cuGetErrorName");
  if (name_of != nullptr && name_of(said.code, &name) == 0 && name != nullptr) {
    std::strncpy(said.name.data(), name, said.name.size() - 1);
  }
  auto* const count = find<int(int*)>(library, "cuDeviceGetCount");
  if (said.code == 0 && count != nullptr) count(&said.devices);
  return said;
}

[[noreturn]] void answer(const std::string& library, int to) {
  void* const driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  Said said = driver == nullptr ? Said{} : start(driver);
  said.is_loaded = driver != nullptr;
  const bool whole = write(to, &said, sizeof said) == ssize_t{sizeof said};
  _exit(whole ? 0 : 1);
}

void take(const Said& said, DriverAnswer& answer) {
  if (!said.is_loaded) answer.path.clear();
  answer.version = said.version;
  answer.code = said.code;
  answer.devices = said.devices;
  answer.name = said.name.data();
}

// Whether the pipe has something, or its end, by then. What the driver starts may keep it open.
bool is_ready(int pipe, unsigned seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waited{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

DriverAnswer ask_driver(const std::string& library, unsigned seconds) {
  DriverAnswer result;
  result.path = found_by_loader(library);
  std::array<int, 2> ends{};
  if (result.path.empty() || pipe2(ends.data(), O_CLOEXEC) != 0) return result;
  const pid_t child = fork();
  if (child == 0) answer(library, ends[1]);
  close(ends[1]);
  result.is_silent = child > 0 && !is_ready(ends[0], seconds);
  if (result.is_silent) kill(child, SIGKILL);
  Said said;
  const bool whole =
      child > 0 && !result.is_silent && read(ends[0], &said, sizeof said) == ssize_t{sizeof said};
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (whole) take(said, result);
  if (!whole && !result.is_silent && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace vramscope
