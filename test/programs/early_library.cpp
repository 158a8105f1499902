// A library that uses CUDA in its constructor, before main and before a preloaded library's own.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

__attribute__((constructor)) static void use_early() {
  start();
  allocate(kMiB);
}

extern "C" __attribute__((visibility("default"))) int early_library() { return 5; }
