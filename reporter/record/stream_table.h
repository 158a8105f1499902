// StreamTable numbers the streams that memory was asked for in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/record/axes.h"

namespace vramscope {

// Threads: any.
class StreamTable {
 public:
  static constexpr std::size_t kMax = 1024;  // further streams are "others"

  StreamTable();  // may throw bad_alloc
  // 1 and up, or kOtherValue.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t handle) noexcept;
  // The stream has ended: its handle means another one from now on.
  void forget(std::uint64_t handle) noexcept;
  // By number, from the first on that is not known; may throw bad_alloc.
  [[nodiscard]] std::vector<StreamFact> facts(std::size_t known = 0) const;

 private:
  mutable SystemMutex lock_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<StreamFact> streams_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
