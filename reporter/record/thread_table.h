// ThreadTable numbers the threads that allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/ground/axes.h"
#include "reporter/ground/facts.h"

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
  // By number; names are those of now, or those last noted of a thread that has ended. May throw
  // bad_alloc.
  [[nodiscard]] std::vector<ThreadFact> facts() const;
  // The calling thread may have another name than at its first call.
  void note_name();
  // Those that came or got another name (note_name()) since `changes` was 0, or was set by the last
  // call. May throw bad_alloc, and then `changes` is as before.
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
  // The last change of each, by its number among all.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
};

}  // namespace vramscope
