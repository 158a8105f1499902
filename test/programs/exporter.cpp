// A program loads a library that exports what it allocates, as UCX does: that must work at once.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <initializer_list>

#include "test/programs/driver.h"

int main() {
  start();
  const CUdeviceptr before = allocate(kMiB);
  void* library = dlopen("libucs_sim.so", RTLD_NOW | RTLD_LOCAL);
  const auto allocate_there =
      library ? reinterpret_cast<CUdeviceptr (*)(std::size_t)>(dlsym(library, "ucs_sim_allocate"))
              : nullptr;
  if (allocate_there == nullptr) {
    std::printf("the library cannot be loaded\n");
    return 1;
  }
  const CUdeviceptr theirs = allocate_there(kMiB + 1), after = allocate(kMiB);
  CUipcMemHandle handle{};
  show("export of the library's block", cuIpcGetMemHandle(&handle, theirs));
  for (const CUdeviceptr block : {before, theirs, after}) show("free", cuMemFree(block));
}
