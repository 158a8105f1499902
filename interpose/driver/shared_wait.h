// Threads that wait for one context at the same time share a wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/ground/machine.h"

namespace vramscope {

// The driver makes waits one after the other, under a lock of its own: on an H200 (driver 580) one
// costs 0.27 us alone and 0.74 us with two threads or more, however many they are. A wait that
// began after a thread came proves for this thread what its own would have proved. So one thread
// waits, and those that came meanwhile take the next wait together. A thread never depends on
// another's wait: after some microseconds, or when that wait failed, it makes its own. Work that is
// submitted after it came, and that may wait for it, is thus waited for no more than by a call that
// began a little later. Threads: any.
class SharedWait {
 public:
  // 0 where a wait for `context` that began after the call did has succeeded; else what `wait`
  // gave on this thread.
  template <class Wait>
  [[nodiscard]] auto operator()(std::uint32_t context, Wait wait) noexcept -> decltype(wait());

 private:
  // The context, the number of the wait that began last, and what became of it.
  using Word = std::uint64_t;
  static constexpr Word kGoesOn = 1;
  static constexpr Word kFailed = 2;
  static constexpr Word kNumber = 4;  // the numbers go round
  static constexpr Word kNumbers = (Word{1} << 32) - kNumber;
  static constexpr int kPauses = 64;  // 1 to 3 us in all

  // What threads that wait write, and nothing else.
  struct alignas(64) Line {
    std::atomic<Word> word{0};
    std::atomic<const void*> last{nullptr};  // who waited last: alone, a thread asks nobody
  } line_;
};

template <class Wait>
inline auto SharedWait::operator()(std::uint32_t context, Wait wait) noexcept -> decltype(wait()) {
  using Code = decltype(wait());
  static constinit thread_local const char self = 0;
  if (line_.last.load(std::memory_order_relaxed) == &self) return wait();
  // What this thread submitted is submitted before it looks which wait began last.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Word seen = line_.word.load(std::memory_order_acquire);
  const Word before = seen;
  for (int pauses = kPauses; pauses > 0;) {
    if ((seen & kGoesOn) != 0) {
      pause_processor();
      --pauses;
      seen = line_.word.load(std::memory_order_acquire);
      continue;
    }
    const bool began_later = ((seen ^ before) & kNumbers) != 0;
    if (began_later && seen >> 32 == context && (seen & kFailed) == 0) return Code{};
    const Word mine = Word{context} << 32 | ((seen + kNumber) & kNumbers);
    if (!line_.word.compare_exchange_weak(seen, mine | kGoesOn, std::memory_order_acq_rel))
      continue;
    line_.last.store(&self, std::memory_order_relaxed);
    const Code code = wait();
    line_.word.store(mine | (code == Code{} ? 0 : kFailed), std::memory_order_release);
    return code;
  }
  return wait();
}

}  // namespace vramscope
