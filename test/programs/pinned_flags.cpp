// Pinned memory with every set of flags: what the driver says about it, before and after its free.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 100000;  // neither a power of two nor whole pages

static CUdeviceptr address_of(void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// The driver may count whole pages, but not more.
static bool fits(std::size_t size) { return size >= kBytes && size < kBytes + 8192; }

static unsigned long long id_of(void* block) {
  unsigned long long id = 0;
  show("id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address_of(block)));
  return id;
}

static void ask(void* block, std::size_t offset) {
  char* inside = static_cast<char*>(block) + offset;
  unsigned flags = 0;
  CUdeviceptr seen = 0, start = 0, base = 0, device_pointer = 0;
  void* host_pointer = nullptr;
  std::size_t size = 0, range = 0;
  CUmemorytype type{};
  char mapped = 0;
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,   CU_POINTER_ATTRIBUTE_MAPPED,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &host_pointer, &device_pointer, &mapped, &start, &range};
  show("flags", cuMemHostGetFlags(&flags, inside));
  show("device pointer", cuMemHostGetDevicePointer(&seen, inside, 0));
  show("attributes", cuPointerGetAttributes(6, names, values, address_of(inside)));
  CUresult code = cuPointerGetAttribute(&type, names[0], address_of(inside));
  show("type", code);
  show("range", cuMemGetAddressRange(&base, &size, address_of(inside)));
  std::printf("at %zu: flags %u, type %d, mapped %d, same pointers %d %d %d\n", offset, flags,
              static_cast<int>(type), mapped, seen == address_of(inside), host_pointer == inside,
              device_pointer == address_of(inside));
  std::printf("start %d %d, size %d %d\n", start == address_of(block), base == address_of(block),
              fits(range), fits(size));
}

int main() {
  start();
  for (unsigned flags = 0; flags < 8; ++flags) {
    void *block = nullptr, *again = nullptr;
    show("allocate", cuMemHostAlloc(&block, kBytes, flags));
    std::memset(block, 1, kBytes);
    ask(block, 0);
    ask(block, kBytes - 1);
    unsigned long long id = id_of(block);
    show("free", cuMemFreeHost(block));
    ask(block, 0);
    ask(block, 4096);
    show("allocate again", cuMemHostAlloc(&again, kBytes, flags));
    std::printf("another id: %d\n", id_of(again) != id);
    ask(again, 17);
    show("free", cuMemFreeHost(again));
  }
  void* plain = nullptr;
  unsigned flags = 99;
  show("without flags", cuMemAllocHost(&plain, kBytes));
  show("flags", cuMemHostGetFlags(&flags, plain));
  std::printf("flags %u\n", flags);
  show("nowhere to put flags", cuMemHostGetFlags(nullptr, plain));
  show("flags for a device pointer", cuMemHostGetDevicePointer(nullptr, plain, 0));
  show("free", cuMemFreeHost(plain));
}
