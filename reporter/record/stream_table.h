// StreamTable numbers the streams that memory was asked for in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/ground/axes.h"
#include "reporter/ground/facts.h"

namespace vramscope {

// Threads: any.
class StreamTable {
 public:
  static constexpr std::size_t kMax = 1024;  // further streams are "others"

  StreamTable();  // may throw bad_alloc
  // 1 and up, or kOtherValue.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t handle) noexcept;
  // The name that the program gives it, whether it is numbered yet or not; may throw bad_alloc.
  void name(std::uint64_t handle, const std::string& name);
  // The stream has ended: its handle means another one from now on.
  void forget(std::uint64_t handle) noexcept;
  // By number; may throw bad_alloc.
  [[nodiscard]] std::vector<StreamFact> facts() const;
  // Those that came or got a name since `changes` was 0, or was set by the last call. May throw
  // bad_alloc, and then `changes` is as before.
  [[nodiscard]] Numbered<StreamFact> changed_since(std::uint64_t& changes) const;

 private:
  mutable SystemMutex lock_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<std::uint64_t, std::string> names_ VRAMSCOPE_GUARDED_BY(lock_);
  // The last change of each, by its number among all.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<StreamFact> streams_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
