// Stands in for an NVML that never answers, and ends at no signal that can be refused.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>

#define ANSWER(name) extern "C" [[gnu::visibility("default")]] int name(...)

ANSWER(nvmlInit_v2);
ANSWER(nvmlShutdown);
ANSWER(nvmlDeviceGetCount_v2);
ANSWER(nvmlDeviceGetHandleByIndex_v2);
ANSWER(nvmlDeviceGetUUID);
ANSWER(nvmlDeviceGetMemoryInfo);

int nvmlInit_v2(...) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  while (true) pause();
}
int nvmlShutdown(...) { return 0; }
int nvmlDeviceGetCount_v2(...) { return 1; }
int nvmlDeviceGetHandleByIndex_v2(...) { return 1; }
int nvmlDeviceGetUUID(...) { return 1; }
int nvmlDeviceGetMemoryInfo(...) { return 1; }
