// A library is unloaded and another one takes its addresses, whose frame there is a larger one.
// SPDX-License-Identifier: Apache-2.0
// Arguments: the two libraries. Says whether the addresses are the same.
#include <dlfcn.h>

#include <cstdint>

#include "test/programs/driver.h"

static void allocate_in_between() { allocate(kMiB); }

[[gnu::noinline]] static std::uintptr_t allocate_through(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(3);
  void* const through = dlsym(library, "call_through");
  reinterpret_cast<void (*)(void (*)())>(through)(allocate_in_between);
  dlclose(library);
  return reinterpret_cast<std::uintptr_t>(through);
}

int main(int count, char** arguments) {
  start();
  std::uintptr_t places[2] = {};
  for (int i = 0; i < count - 1 && i < 2; ++i) places[i] = allocate_through(arguments[i + 1]);
  std::printf("same place: %d\n", places[0] == places[1]);
}
