// Asks in a forked child, which a broken driver may end or hold up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/driver_answer.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace vramscope {
namespace {

// What the child writes: plain values.
struct Said {
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
  alarm(kDriverSeconds);
  void* const driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const Said said = driver == nullptr ? Said{} : start(driver);
  const bool whole = write(to, &said, sizeof said) == ssize_t{sizeof said};
  _exit(whole ? 0 : 1);
}

void take(const Said& said, DriverAnswer& answer) {
  answer.version = said.version;
  answer.code = said.code;
  answer.devices = said.devices;
  answer.name = said.name.data();
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  std::error_code error;
  const auto whole = std::filesystem::canonical(map->l_name, error);
  return error ? map->l_name : whole.string();
}

// As a program of this environment would load it.
std::string loaded_path(const std::string& library, std::string& problem) {
  void* const found = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (found == nullptr) {
    problem = dlerror();
    return "";
  }
  std::string path = path_of(found);
  dlclose(found);
  return path;
}

}  // namespace

std::string found_by_loader(const std::string& library) {
  std::string problem;
  return loaded_path(library, problem);
}

DriverAnswer ask_driver(const std::string& library) {
  DriverAnswer result;
  result.path = loaded_path(library, result.error);
  std::array<int, 2> ends{};
  if (result.path.empty() || pipe(ends.data()) != 0) return result;
  const pid_t child = fork();
  if (child == 0) answer(library, ends[1]);
  close(ends[1]);
  Said said;
  const bool whole = child > 0 && read(ends[0], &said, sizeof said) == ssize_t{sizeof said};
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (whole) take(said, result);
  if (!whole && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace vramscope
