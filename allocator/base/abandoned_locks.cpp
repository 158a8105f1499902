// Records which thread ends the process, and which locks it may hold.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/abandoned_locks.h"

namespace vramscope {

constinit std::atomic<std::uint32_t> EndingThread::holder_{0};
constinit std::atomic<bool> EndingThread::holds_system_locks_{false};
constinit std::atomic<bool> EndingThread::amid_call_{false};
constinit std::atomic<int> AwaitsLock::waiting_{0};

EndingThread::EndingThread(bool amid_call, bool holds_system_locks) noexcept {
  holds_system_locks_.store(holds_system_locks, std::memory_order_relaxed);
  amid_call_.store(amid_call || holds_system_locks, std::memory_order_relaxed);
  holder_.store(this_holder(), std::memory_order_release);
}

EndingThread::~EndingThread() {
  holder_.store(0, std::memory_order_relaxed);
  holds_system_locks_.store(false, std::memory_order_relaxed);
  amid_call_.store(false, std::memory_order_relaxed);
}

}  // namespace vramscope
