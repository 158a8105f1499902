// Children of every make that do all that reaches us, while the parent's live file stays as it is.
// SPDX-License-Identifier: Apache-2.0
// Prints how each child ended, and whether the file's bytes are what they were before. Without a
// live file both are "no file".
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static CUdeviceptr held;

// The file that is mapped under a name like that.
static std::string live_file() {
  FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[5000] = "";
  std::string path;
  while (path.empty() && std::fgets(line, sizeof line, maps) != nullptr) {
    const char* const name = std::strchr(line, '/');
    if (name != nullptr && std::strstr(name, ".live") != nullptr) path = name;
  }
  std::fclose(maps);
  return path.substr(0, path.find('\n'));
}

// A sum of all that the file has, and where; it is sparse.
static std::uint64_t sum_of(const std::string& path) {
  std::uint64_t sum = 0xcbf29ce484222325;
  const int file = open(path.c_str(), O_RDONLY);
  std::vector<unsigned char> bytes(1 << 20);
  for (off_t at = lseek(file, 0, SEEK_DATA); at >= 0;) {
    const off_t end = lseek(file, at, SEEK_HOLE);
    while (at < end) {
      const ssize_t got =
          pread(file, bytes.data(), std::min<std::size_t>(bytes.size(), end - at), at);
      if (got <= 0) break;
      for (ssize_t i = 0; i < got; ++i) {
        if (bytes[i] != 0)
          sum = (sum ^ bytes[i] ^ static_cast<std::uint64_t>(at + i)) * 0x100000001b3;
      }
      at += got;
    }
    at = lseek(file, at, SEEK_DATA);
  }
  close(file);
  return sum;
}

static void use_cuda() {
  CUdeviceptr block = 0;
  cuMemAlloc(&block, kMiB);
  cuMemFree(held);
  void* pinned = nullptr;
  cuMemHostAlloc(&pinned, 4096, 0);
  nvtxRangePushA("in the child");
  nvtxRangePop();
}

static void on_signal(int) { use_cuda(); }

static pid_t make(const char* way) {
  if (std::strcmp(way, "fork") == 0) return fork();
  if (std::strcmp(way, "_Fork") == 0) return _Fork();
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

static void in_child(const char* end) {
  use_cuda();
  std::signal(SIGUSR2, on_signal);
  std::raise(SIGUSR2);
  std::raise(SIGUSR1);  // ours is gone, or asks in vain
  std::thread(use_cuda).join();
  if (std::strcmp(end, "exit") == 0) std::exit(5);  // handlers and destructors free, too
  if (std::strcmp(end, "quick_exit") == 0) std::quick_exit(5);
  if (std::strcmp(end, "thread") == 0) pthread_exit(nullptr);
  if (std::strcmp(end, "exec") == 0) execl("/bin/true", "true", nullptr);
  _exit(5);
}

static void tell(const char* way, const char* end, pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%s, %s: exit %d, signal %d\n", way, end,
              WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  std::fflush(stdout);
}

static void free_at_exit() { cuMemFree(held); }

int main() {
  start();
  std::signal(SIGUSR1, SIG_IGN);
  std::atexit(free_at_exit);
  nvtxRangePushA("outer");
  held = allocate(3 * kMiB);
  for (int i = 0; i < 100; ++i) allocate(1000);
  std::fflush(stdout);
  static const std::string path = live_file();
  static const std::uint64_t before = path.empty() ? 0 : sum_of(path);

  for (const char* way : {"fork", "_Fork", "clone"}) {
    for (const char* end : {"exit", "quick_exit", "_exit", "thread", "exec"}) {
      const pid_t child = make(way);
      if (child == 0) in_child(end);
      tell(way, end, child);
    }
  }
  const pid_t child = vfork();
  if (child == 0) _exit(5);
  tell("vfork", "_exit", child);

  const char* const found = path.empty()             ? "no file"
                            : sum_of(path) == before ? "the same"
                                                     : "changed";
  std::fprintf(stderr, "live file: %s\n", found);
  allocate(2 * kMiB);
  if (std::getenv("END_BY_KILL") != nullptr) std::raise(SIGKILL);
}
