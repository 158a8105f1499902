// Frees memory on one thread, and gets it again on another before the free has returned.
// SPDX-License-Identifier: Apache-2.0
// Argument: plain, ordered or imported. The simulated driver alone tells when it has done its work:
// on a real one the second thread comes after the free, and may get another address.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kBytes = 8 * kMiB;

struct Way {
  const char* name;
  CUdeviceptr (*allocate)(std::size_t bytes);
  void (*free)(CUdeviceptr);
};

CUdeviceptr allocate_in_order(std::size_t bytes) {
  CUdeviceptr block = 0;
  MUST(cuMemAllocAsync(&block, bytes, nullptr));
  return block;
}

// Another process, which we do not watch, exports one block for each open, and keeps them.
struct Exporter {
  pid_t pid = 0;
  int handles = -1;  // from there they come
  int end = -1;      // it goes on until that is closed
} exporter;

int give(int to, int end) {
  start();
  for (const std::size_t bytes : {kBytes, kBytes - 4096}) {  // the same pages
    CUipcMemHandle handle;
    std::memset(&handle, 0, sizeof handle);
    MUST(cuIpcGetMemHandle(&handle, allocate(bytes)));
    if (write(to, &handle, sizeof handle) != sizeof handle) return 3;
  }
  char byte = 0;
  return read(end, &byte, 1) == 0 ? 0 : 3;
}

void start_exporter(char* program) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::exit(3);
  std::string to = std::to_string(there[1]), end = std::to_string(back[0]);
  std::string rest = std::to_string(back[1]);
  char name[] = "give";
  char* const words[] = {program, name, to.data(), end.data(), rest.data(), nullptr};
  std::vector<char*> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with("LD_PRELOAD=")) variables.push_back(*one);
  }
  variables.push_back(nullptr);
  if (posix_spawn(&exporter.pid, program, nullptr, nullptr, words, variables.data()) != 0)
    std::exit(3);
  exporter.handles = there[0];
  exporter.end = back[1];
}

CUdeviceptr open_next(std::size_t) {
  CUipcMemHandle handle;
  CUdeviceptr block = 0;
  if (read(exporter.handles, &handle, sizeof handle) != sizeof handle) std::exit(3);
  MUST(cuIpcOpenMemHandle(&block, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return block;
}

const Way kWays[] = {
    {"plain", allocate, [](CUdeviceptr block) { MUST(cuMemFree(block)); }},
    {"ordered", allocate_in_order, [](CUdeviceptr block) { MUST(cuMemFreeAsync(block, nullptr)); }},
    {"imported", open_next, [](CUdeviceptr block) { MUST(cuIpcCloseMemHandle(block)); }},
};

std::atomic<bool> is_free{false};
std::atomic<bool> is_taken{false};
thread_local bool frees = false;

void wait_until_taken() {
  if (!frees) return;
  is_free = true;
  while (!is_taken) std::this_thread::yield();
}

// Whether the driver will call wait_until_taken() at the end of each call.
bool is_told() {
  void* const found = dlsym(RTLD_DEFAULT, "vramscope_simulated_answers");
  if (found == nullptr) return false;
  reinterpret_cast<void (*)(void (*)())>(found)(wait_until_taken);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 4 && std::string_view(argv[1]) == "give") {
    close(std::stoi(argv[4]));
    return give(std::stoi(argv[2]), std::stoi(argv[3]));
  }
  const Way* way = kWays;
  for (const Way& one : kWays) {
    if (argc > 1 && std::string_view(argv[1]) == one.name) way = &one;
  }
  if (way->allocate == open_next) start_exporter(argv[0]);
  CUcontext context = start();
  const bool told = is_told();
  const CUdeviceptr first = way->allocate(kBytes);
  std::thread freeing([&] {
    MUST(cuCtxSetCurrent(context));
    frees = true;
    way->free(first);
    frees = false;
  });
  if (!told) freeing.join();
  while (told && !is_free) std::this_thread::yield();
  MUST(cuStreamSynchronize(nullptr));
  const CUdeviceptr second = way->allocate(kBytes / 2);
  is_taken = true;
  if (told) freeing.join();
  std::printf("the same address: %d\n", first == second);
  way->free(second);
  if (exporter.pid == 0) return 0;
  close(exporter.end);
  int status = 0;
  return waitpid(exporter.pid, &status, 0) == exporter.pid ? status : 3;
}
