// SYNC_MEMOPS belongs to one allocation: whoever gets memory afterwards must not inherit it.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <initializer_list>

#include "test/programs/driver.h"

namespace {

constexpr auto kSyncMemops = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;

void ask(const char* name, CUdeviceptr address) {
  int value = -1;
  const CUresult code = cuPointerGetAttribute(&value, kSyncMemops, address);
  std::printf("%s: code %d, value %d\n", name, code, value);
}

void set(const char* name, int value, CUdeviceptr address) {
  show(name, cuPointerSetAttribute(&value, kSyncMemops, address));
}

}  // namespace

// "large": no block is small enough to share a segment.
int main(int argc, char** argv) {
  const bool is_large = argc > 1 && std::strcmp(argv[1], "large") == 0;
  start();
  for (const std::size_t bytes : {is_large ? 2 * kMiB : std::size_t{4096}, 3 * kMiB, 64 * kMiB}) {
    const CUdeviceptr block = allocate(bytes), neighbour = allocate(bytes);
    ask("at first", block);
    set("switch it off, which it is", 0, block);
    set("switch it on", 1, block + 256);
    ask("afterwards", block);
    ask("the neighbour", neighbour);
    show("free", cuMemFree(block));
    set("switch it on for freed memory", 1, block);
    const CUdeviceptr again = allocate(bytes);
    ask("memory of the same size", again);
    show("no value", cuPointerSetAttribute(nullptr, kSyncMemops, again));
    show("free", cuMemFree(again));
    show("free of the neighbour", cuMemFree(neighbour));
  }
  const int on = 1;
  show("an attribute that cannot be set",
       cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_RANGE_SIZE, allocate(kMiB)));
}
