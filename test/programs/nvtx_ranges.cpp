// Names what it does by NVTX ranges of every sort, and allocates in each. "killed": ends by
// SIGKILL.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include <csignal>
#include <thread>

#include "test/programs/driver.h"
#include "test/programs/nvtx_event.h"

int main(int argc, char**) {
  nvtxRangePushA("early");  // before CUDA
  start();
  (void)allocate(1 * kMiB);
  nvtxRangePop();
  (void)allocate(2 * kMiB);

  nvtxRangePushA("step");
  nvtxRangePushW(L"vorw\u00e4rts");
  (void)allocate(3 * kMiB);
  nvtxRangePop();
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("net");
  const nvtxEventAttributes_t reduce = event(nvtxDomainRegisterStringA(domain, "reduce"));
  nvtxDomainRangePushEx(domain, &reduce);
  (void)allocate(4 * kMiB);
  nvtxDomainRangePop(domain);
  nvtxMarkA("half");
  nvtxRangePop();

  // Begins here and ends on another thread; both are in it while it lasts.
  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent(&context));
  const nvtxRangeId_t epoch = nvtxRangeStartA("epoch");
  (void)allocate(5 * kMiB);
  std::thread([&] {
    MUST(cuCtxSetCurrent(context));
    (void)allocate(6 * kMiB);
    nvtxRangePushA("inner");
    (void)allocate(7 * kMiB);
    nvtxRangePop();
    nvtxRangeEnd(epoch);
  }).join();
  (void)allocate(8 * kMiB);
  nvtxRangePop();  // one too many
  for (int depth = 0; depth < 100; ++depth) nvtxRangePushA("deep");
  (void)allocate(9 * kMiB);
  std::puts("done");
  if (argc > 1) std::raise(SIGKILL);
}
