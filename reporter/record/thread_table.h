// ThreadTable numbers the threads that allocate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/axes.h"
#include "reporter/base/facts.h"

namespace vramscope {

// Threads: any. A thread keeps its number, and no number is reused.
class ThreadTable {
 public:
  static constexpr std::size_t kMax = 1024;  // further threads count as "others"

  ThreadTable();  // may throw bad_alloc
  // Returns the calling thread's number, 1 and up, or kOtherValue.
  [[nodiscard]] std::uint32_t current() noexcept {
    return slot.table == this ? slot.number : enter();
  }
  // Returns all threads in the order of their numbers, with their present names; an ended thread
  // has its last noted name. May throw bad_alloc.
  [[nodiscard]] std::vector<ThreadFact> facts() const;
  // Notes the calling thread's name, which may have changed since its first call.
  void note_name();
  // Returns the threads that were added or renamed (note_name()) since the call that set `changes`,
  // or since the start if it is 0. May throw bad_alloc; `changes` is then unchanged.
  [[nodiscard]] Numbered<ThreadFact> changed_since(std::uint64_t& changes) const;

 private:
  struct Slot {
    const ThreadTable* table;
    std::uint32_t number;
  };
  [[nodiscard]] std::uint32_t enter() noexcept;

  __attribute__((tls_model("initial-exec"))) static constinit thread_local Slot slot;
  mutable SystemMutex lock_;
  std::vector<ThreadFact> threads_ VRAMSCOPE_GUARDED_BY(lock_);
  // For each thread, the number of its last change.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
};

}  // namespace vramscope
