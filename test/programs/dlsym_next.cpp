// Another wrapper in the process that looks up the next definition of a name must find it.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdio>

#include "test/programs/driver.h"

extern "C" const char* describe_next_puts();
extern "C" int describe_calls();

int main() {
  std::printf("next puts is in: %s\n", describe_next_puts());
  start();
  std::printf("still in: %s\n", describe_next_puts());
  std::puts("through the wrapper");
  std::printf("wrapped calls: %d\n", describe_calls());
  dlerror();
  std::printf("missing name: %d\n", dlsym(RTLD_DEFAULT, "vramscope_no_such_name") != nullptr);
  std::printf("its error is told: %d\n", dlerror() != nullptr);
  std::printf("dlsym is callable by its own answer: %d\n", dlsym(RTLD_DEFAULT, "dlsym") != nullptr);
}
