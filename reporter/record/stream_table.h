// StreamTable numbers the streams in which memory was requested.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/axes.h"
#include "reporter/base/facts.h"

namespace vramscope {

// Threads: any.
class StreamTable {
 public:
  static constexpr std::size_t kMax = 1024;  // further streams count as "others"

  StreamTable();  // may throw bad_alloc
  // Returns the stream's number, 1 and up, or kOtherValue.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t handle) noexcept;
  // Notes the name that the program gives a stream, whether the stream has a number yet or not. May
  // throw bad_alloc.
  void name(std::uint64_t handle, const std::string& name);
  // Notes that the stream has ended. From now on its handle means another stream.
  void forget(std::uint64_t handle) noexcept;
  // Returns all streams in the order of their numbers. May throw bad_alloc.
  [[nodiscard]] std::vector<StreamFact> facts() const;
  // Returns the streams that were added or named since the call that set `changes`, or since the
  // start if it is 0. May throw bad_alloc; `changes` is then unchanged.
  [[nodiscard]] Numbered<StreamFact> changed_since(std::uint64_t& changes) const;

 private:
  mutable SystemMutex lock_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<std::uint64_t, std::string> names_ VRAMSCOPE_GUARDED_BY(lock_);
  // For each stream, the number of its last change.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<StreamFact> streams_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
