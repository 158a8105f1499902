// Locks of ours that a fork amid a call of ours takes: the child has its one thread only, and would
// wait for ever for others that it lacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// A lock makes itself known for as long as there is one of these. Threads: any.
class ForkLock {
 public:
  // Whether trying again is of use. `maybe_self`: the calling thread was interrupted as it took it.
  enum class Owner { other, maybe_self, self };
  struct Ways {
    // Takes the lock if nobody has it, the calling thread itself included. Async-signal-safe.
    bool (*try_lock)(void* lock) noexcept;
    void (*unlock)(void* lock) noexcept;
    Owner (*owner)(const void* lock) noexcept;
  };
  // Both live longer than this.
  ForkLock(const Ways& ways, void* lock) noexcept;
  ~ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  // Takes all locks there are but those that the calling thread has, and holds them until
  // release_all(), there and in the child that is forked meanwhile. Those that somebody holds for
  // longer than a second stay out. Threads: one at a time, one that forks; amid any call of ours.
  static void hold_all() noexcept;
  static void release_all() noexcept;

 private:
  // Whether all are held then but those that the thread has, or, `late`, may have.
  [[nodiscard]] static bool hold_free(bool late) noexcept;
  static void release() noexcept;

  const Ways& ways_;
  void* const lock_;
  bool is_held_ = false;
  ForkLock* before_ = nullptr;
  ForkLock* next_ = nullptr;
};

}  // namespace vramscope
