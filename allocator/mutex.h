// A mutex that clang's thread-safety analysis understands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#if defined(__clang__)
#define VRAMSCOPE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define VRAMSCOPE_THREAD_ATTRIBUTE(x)
#endif
#define VRAMSCOPE_GUARDED_BY(m) VRAMSCOPE_THREAD_ATTRIBUTE(guarded_by(m))
#define VRAMSCOPE_REQUIRES(...) VRAMSCOPE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VRAMSCOPE_ACQUIRE(...) VRAMSCOPE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define VRAMSCOPE_RELEASE(...) VRAMSCOPE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define VRAMSCOPE_NO_ANALYSIS VRAMSCOPE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace vramscope {

class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() VRAMSCOPE_ACQUIRE() { mutex_.lock(); }
  void unlock() VRAMSCOPE_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class VRAMSCOPE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) VRAMSCOPE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() VRAMSCOPE_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace vramscope
