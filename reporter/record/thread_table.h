// ThreadTable numbers the threads that allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/record/axes.h"

namespace vramscope {

// Threads: any. A thread keeps its number; no number is given twice.
class ThreadTable {
 public:
  static constexpr std::size_t kMax = 1024;  // further threads are "others"

  ThreadTable();  // may throw bad_alloc
  // The calling thread's number: 1 and up, or kOtherValue.
  [[nodiscard]] std::uint32_t current() noexcept {
    return slot.table == this ? slot.number : enter();
  }
  // By number; names are those of now, or of a thread's first call if it has ended. May throw
  // bad_alloc.
  [[nodiscard]] std::vector<ThreadFact> facts() const;

 private:
  struct Slot {
    const ThreadTable* table;
    std::uint32_t number;
  };
  [[nodiscard]] std::uint32_t enter() noexcept;

  __attribute__((tls_model("initial-exec"))) static constinit thread_local Slot slot;
  mutable SystemMutex lock_;
  std::vector<ThreadFact> threads_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
