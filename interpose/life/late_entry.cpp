// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/late_entry.h"

#include <atomic>
#include <exception>

#include "allocator/base/kept_errno.h"
#include "interpose/base/message.h"
#include "interpose/life/start.h"
#include "interpose/loader/real.h"
#include "interpose/loader/repointing.h"
#include "interpose/settings/startup.h"

namespace vramscope {
namespace {

constinit std::atomic<bool> waits{false};  // for a call of the program, to start

// Calls nothing of the driver, which may hold its locks here. The program's calls may miss a
// wrapper that they would need, so nothing is served from our own memory: mode observe.
void enter(WayIn way) noexcept {
  const KeptErrno kept;
  if (switched_off() || is_in_secure_execution() || is_in_program()) return;
  if (!load_real_if_mapped()) return;
  note_way_in(way);
  waits.store(true);
  try {
    static_cast<void>(point_to_wrappers());
  } catch (const std::exception&) {
    say("not enough memory to start; the program runs unrecorded");
  }
}

__attribute__((constructor)) void at_load() {
  if (startup().is_attached) enter(WayIn::attached);
}

}  // namespace

bool start_late() noexcept {
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
  vramscope::enter(vramscope::WayIn::by_driver);
  return 1;
}
