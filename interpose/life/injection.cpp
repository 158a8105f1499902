// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/injection.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>

#include "allocator/base/kept_errno.h"
#include "interpose/base/message.h"
#include "interpose/life/start.h"
#include "interpose/loader/loader.h"
#include "interpose/loader/real.h"
#include "interpose/loader/repointing.h"
#include "interpose/settings/startup.h"

namespace vramscope {
namespace {

constinit std::atomic<bool> waits{false};  // the library was injected, and has not started

// Whether the program finds wrappers by itself, those of this library or of another copy of it, as
// with LD_PRELOAD.
bool is_preloaded() noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  const bool is_ours = real_dlsym(program, "vramscope_v1_is_active") != nullptr;
  dlclose(program);
  dlerror();
  return is_ours;
}

// The driver holds its locks here, so nothing of it is called. The program's calls may miss a
// wrapper that they would need, so nothing is served from our own memory: mode observe.
void take_over() {
  const KeptErrno kept;
  if (switched_off() || is_in_secure_execution() || is_preloaded()) return;
  if (!load_real_if_mapped()) return;
  note_injection();
  waits.store(true);
  static_cast<void>(point_to_wrappers());
}

}  // namespace

bool start_if_injected() noexcept {
  if (!waits.load(std::memory_order_relaxed)) return false;
  int count = 0;
  if (real().cuDeviceGetCount(&count) != CUDA_SUCCESS) return false;
  bool expected = true;
  if (!waits.compare_exchange_strong(expected, false)) return false;
  start_profiler();
  return true;
}

}  // namespace vramscope

// Returns 1 whatever happens: a program must not fail because of us.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  try {
    vramscope::take_over();
  } catch (const std::exception&) {
    vramscope::say("not enough memory to start; the program runs unrecorded");
  }
  return 1;
}
