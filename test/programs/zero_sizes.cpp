// Asks for no bytes, of every kind: what the driver says, and whether it touches the answer.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static constexpr CUdeviceptr kUntouched = 0xabc0;

static void tell(const char* what, CUresult code, CUdeviceptr answer) {
  std::printf("%s: %d, %s\n", what, static_cast<int>(code),
              answer == kUntouched ? "untouched"
              : answer == 0        ? "null"
                                   : "an address");
}

static void tell_host(const char* what, CUresult code, void* answer) {
  tell(what, code, reinterpret_cast<CUdeviceptr>(answer));
  auto untouched = reinterpret_cast<void*>(kUntouched);
  if (code == CUDA_SUCCESS && answer != untouched) show("its free", cuMemFreeHost(answer));
}

int main() {
  start();
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr block = kUntouched;
  std::size_t pitch = 77;
  void* host = reinterpret_cast<void*>(kUntouched);
  char byte = 0;
  tell("device", cuMemAlloc(&block, 0), block);
  tell("no columns", cuMemAllocPitch(&block, &pitch, 0, 5, 4), block);
  tell("no rows", cuMemAllocPitch(&block, &pitch, 5, 0, 4), block);
  tell("managed", cuMemAllocManaged(&block, 0, CU_MEM_ATTACH_GLOBAL), block);
  tell("stream-ordered", cuMemAllocAsync(&block, 0, stream), block);
  tell_host("pinned", cuMemHostAlloc(&host, 0, 0), host);
  host = reinterpret_cast<void*>(kUntouched);
  tell_host("pinned, plain", cuMemAllocHost(&host, 0), host);
  show("register", cuMemHostRegister(&byte, 0, 0));
  show("register nowhere", cuMemHostRegister(nullptr, 4096, 0));
  show("set", cuMemsetD8(block, 1, 0));
  CUdeviceptr real = allocate(1);
  show("a byte can be set", cuMemsetD8(real, 1, 1));
  show("its free", cuMemFree(real));
}
