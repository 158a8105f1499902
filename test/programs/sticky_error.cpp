// A kernel writes where nothing is: from then on every call answers that error.
// SPDX-License-Identifier: Apache-2.0
// The simulated device runs no kernel; there VRAMSCOPE_SIM=sticky=3:700 has the same effect.
#include "test/programs/driver.h"

static const char* const kFault = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry fault()
{
  .reg .u64 %where;
  .reg .u32 %what;
  mov.u64 %where, 16;
  mov.u32 %what, 1;
  st.global.u32 [%where], %what;
  ret;
}
)";

int main() {
  start();
  CUmodule module;
  CUfunction fault;
  MUST(cuModuleLoadData(&module, kFault));
  MUST(cuModuleGetFunction(&fault, module, "fault"));
  CUdeviceptr first = allocate(24 * kMiB), second = allocate(24 * kMiB), third = 0;
  std::size_t free = 0, total = 0;
  void* pinned = nullptr;
  show("third allocation", cuMemAlloc(&third, 24 * kMiB));
  cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  show("wait", cuCtxSynchronize());
  show("free", cuMemFree(first));
  show("free", cuMemFree(second));
  show("allocation", cuMemAlloc(&first, 24 * kMiB));
  show("small allocation", cuMemAlloc(&first, 100));
  show("pinned allocation", cuMemAllocHost(&pinned, 100));
  show("free memory", cuMemGetInfo(&free, &total));
  show("set", cuMemsetD8(third, 1, 100));
  show("wait", cuCtxSynchronize());
  show("free again", cuMemFree(second));
}
