// Resets the device and destroys contexts: their memory is gone, old pointers are refused.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

int main() {
  CUcontext context = start();
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  CUdeviceptr old = allocate(3 * kMiB), cached = allocate(3 * kMiB);
  MUST(cuMemFree(cached));
  show("reset", cuDevicePrimaryCtxReset(device));
  show("free of an old pointer without a context", cuMemFree(old));

  CUcontext again = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&again, device));
  MUST(cuCtxSetCurrent(again));
  std::printf("same handle as before: %d\n", again == context);
  show("free of an old pointer", cuMemFree(old));
  CUdeviceptr fresh = allocate(3 * kMiB);
  show("use of new memory", cuMemsetD8(fresh, 1, 3 * kMiB));
  show("free of new memory", cuMemFree(fresh));

  CUcontext second = create_context(device);
  CUdeviceptr theirs = allocate(5 * kMiB);
  show("destroy", cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(again));
  show("free of a destroyed context's pointer", cuMemFree(theirs));
  CUdeviceptr last = allocate(5 * kMiB);
  show("use of new memory", cuMemsetD8(last, 1, 5 * kMiB));
  show("free", cuMemFree(last));
}
