// Exports pointers to other processes: a part of a shared segment must never be exported wrongly.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

int main() {
  start();
  CUipcMemHandle handle{};
  CUdeviceptr small = allocate(kMiB), large = allocate(64 * kMiB);
  show("export of a small block", cuIpcGetMemHandle(&handle, small));
  show("export of a large block", cuIpcGetMemHandle(&handle, large));
  CUdeviceptr later = allocate(kMiB);
  show("export of a block allocated after an export", cuIpcGetMemHandle(&handle, later));
  show("free of the small block", cuMemFree(small));
  show("free of the large block", cuMemFree(large));
  show("free of the later block", cuMemFree(later));
  show("export of a freed block", cuIpcGetMemHandle(&handle, later));
}
