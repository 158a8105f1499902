// Notices a program that waits for what a kernel would write, which would be for ever: kernels are
// not executed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace vramscope::simulator {

// Set by each call of the driver, cleared by the watch.
extern std::atomic<bool> is_called;
inline void note_call() {
  if (!is_called.load(std::memory_order_relaxed)) is_called.store(true, std::memory_order_relaxed);
}

// Starts the watch at the program's first kernel. It says one line, once, if for `busy_wait_ms`
// nobody calls the driver, one thread computes without a system call that waits, and the process
// reads one page of pinned or managed memory all the time, which does not change. It asks Linux
// which pages were read, and touches none.
void watch_for_busy_wait();

}  // namespace vramscope::simulator
