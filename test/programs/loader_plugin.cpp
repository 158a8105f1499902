// A plug-in that uses the driver and links it.
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

// The codes of an allocation, a copy there and back, and the free, as digits; 0 when all is well.
extern "C" __attribute__((visibility("default"))) int use_memory(unsigned bytes) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUdeviceptr block = 0;
  int there = 42, back = 0;
  const CUresult results[] = {cuInit(0),
                              cuDeviceGet(&device, 0),
                              cuDevicePrimaryCtxRetain(&context, device),
                              cuCtxSetCurrent(context),
                              cuMemAlloc(&block, bytes),
                              cuMemcpyHtoD(block, &there, sizeof there),
                              cuMemcpyDtoH(&back, block, sizeof back),
                              cuMemFree(block),
                              cuDevicePrimaryCtxRelease(device)};
  for (const CUresult result : results) {
    if (result != CUDA_SUCCESS) return static_cast<int>(result);
  }
  return back == there ? 0 : -1;
}
