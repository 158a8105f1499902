// Exports memory as a DMA-BUF and by P2P tokens, for other devices, and asks for its handle.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "test/programs/driver.h"

namespace {

void export_range(const char* name, CUdeviceptr address, std::size_t bytes) {
  int file = -1;
  const CUresult code =
      cuMemGetHandleForAddressRange(&file, address, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  show(name, code);
  if (code == CUDA_SUCCESS) close(file);
}

void ask_for_tokens(const char* name, CUdeviceptr address) {
  CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens{};
  show(name, cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, address));
}

}  // namespace

int main() {
  start();
  const CUdeviceptr small = allocate(kMiB), large = allocate(64 * kMiB);
  export_range("export of a small block", small, kMiB);
  export_range("export of a large block", large, 64 * kMiB);
  export_range("export of a part of it", large + 2 * kMiB, 2 * kMiB);
  ask_for_tokens("tokens of a small block", small);
  ask_for_tokens("tokens of a large block", large);
  CUmemGenericAllocationHandle handle = 0;
  show("handle of memory that has none",
       cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(large)));
  show("free of the small block", cuMemFree(small));
  show("free of the large block", cuMemFree(large));
  export_range("export of freed memory", large, 64 * kMiB);
}
