// Opens memory of another process twice: the driver gives one address and counts.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 3 * kMiB;

// Exports a block and keeps it until the other process has read it.
static int give(int to, int from) {
  start();
  CUdeviceptr block = allocate(kBytes);
  CUipcMemHandle handle;
  std::memset(&handle, 0, sizeof handle);
  MUST(cuMemsetD8(block, 7, kBytes));
  MUST(cuCtxSynchronize());
  const CUresult code = cuIpcGetMemHandle(&handle, block);
  if (write(to, &code, sizeof code) != sizeof code) return 3;
  if (write(to, &handle, sizeof handle) != sizeof handle) return 3;
  char done = 0;
  return read(from, &done, 1) == 1 ? 0 : 3;
}

static void take(const CUipcMemHandle& handle) {
  constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  CUdeviceptr first = 0, second = 0;
  unsigned char byte = 0;
  show("open", cuIpcOpenMemHandle(&first, handle, kLazy));
  show("open again", cuIpcOpenMemHandle(&second, handle, kLazy));
  std::printf("the same address: %d\n", first == second);
  show("close", cuIpcCloseMemHandle(first));
  show("read", cuMemcpyDtoH(&byte, first, 1));
  std::printf("byte: %d\n", byte);
  show("close", cuIpcCloseMemHandle(first));
  show("close", cuIpcCloseMemHandle(first));
}

int main() {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 3;
  const pid_t child = fork();  // before CUDA starts: it works in neither otherwise
  if (child == 0) return give(there[1], back[0]);
  start();
  CUresult code = CUDA_ERROR_UNKNOWN;
  CUipcMemHandle handle;
  if (read(there[0], &code, sizeof code) != sizeof code) return 3;
  if (read(there[0], &handle, sizeof handle) != sizeof handle) return 3;
  show("export", code);
  if (code == CUDA_SUCCESS) take(handle);
  int status = 0;
  if (write(back[1], "x", 1) != 1 || waitpid(child, &status, 0) != child) return 3;
  std::printf("the other process: %d\n", status);
}
