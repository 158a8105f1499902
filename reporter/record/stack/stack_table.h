// StackTable finds the tag of a raw stack (return addresses) that was seen before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "allocator/ground/capability.h"
#include "allocator/ground/place.h"
#include "reporter/record/axes.h"

namespace vramscope {

struct StackKey {
  std::span<const std::uintptr_t> frames;
  Origin origin;            // without the caller
  std::uint32_t epoch = 0;  // of the modules: the same addresses may mean something else later

  // Everything but the frames.
  [[nodiscard]] std::array<std::uint64_t, 3> rest() const noexcept { return rest(origin, epoch); }
  // Without a copy of the origin: one that was just written would be waited for.
  [[nodiscard]] static std::array<std::uint64_t, 3> rest(const Origin& origin,
                                                         std::uint32_t epoch) noexcept;
};

// Append-only: a lookup takes no lock and never waits. Threads: any.
class StackTable {
 public:
  StackTable();  // may throw bad_alloc
  ~StackTable();

  [[nodiscard]] static std::uint64_t hash(const StackKey& key) noexcept;
  [[nodiscard]] Tag find(const StackKey& key, std::uint64_t hash) const noexcept;  // 0: not seen
  // Without memory the stack stays unknown, which costs time at its next lookup and nothing else.
  void insert(const StackKey& key, std::uint64_t hash, Tag tag) noexcept;

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 17;  // 1 MiB, touched as needed
  static constexpr std::size_t kLocks = 16;
  // Several times the tags there can be; bounds what a program costs us that unloads forever.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 22;

  struct Entry;
  struct Unmap {
    void operator()(std::atomic<Entry*>* buckets) const noexcept;
  };

  std::unique_ptr<std::atomic<Entry*>[], Unmap> buckets_;
  std::array<SystemMutex, kLocks> locks_;  // of those who insert: a bucket has the same one always
  std::atomic<std::size_t> entries_{0};
};

}  // namespace vramscope
