// A library that frees what it was given when the process ends.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/late_library.h"

#include <cstring>

#include "test/programs/driver.h"

// The driver starts before main, so it ends after this library, which was loaded because of it.
__attribute__((constructor)) static void use_early(int argc, char** argv, char**) {
  if (argc < 2 || std::strcmp(argv[1], "shutdown") != 0) start();
}

static CUdeviceptr object_block, destructor_block;

static void free_late(const char* when, CUdeviceptr block) {
  if (block == 0) return;
  std::printf("%s: %d\n", when, static_cast<int>(cuMemFree(block)));
  std::fflush(stdout);
}

struct Static {
  ~Static() { free_late("static object of a library", object_block); }
};
static Static object;

__attribute__((destructor)) static void at_unload() {
  free_late("destructor of a library", destructor_block);
}

extern "C" __attribute__((visibility("default"))) void give_library(CUdeviceptr for_object,
                                                                    CUdeviceptr for_destructor) {
  object_block = for_object;
  destructor_block = for_destructor;
}
