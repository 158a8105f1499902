// StackTable finds the tag of a raw stack (return addresses) that was seen before. It keeps two
// hashes of each stack, not the addresses: among 2^20 stacks, two have equal 128 bits in one of
// 10^26 processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "allocator/base/appended.h"
#include "allocator/base/capability.h"
#include "allocator/base/place.h"
#include "reporter/base/axes.h"

namespace vramscope {

struct StackKey {
  std::span<const std::uintptr_t> frames;
  Origin origin;            // without the caller
  std::uint32_t epoch = 0;  // of the modules: equal addresses may mean something else later

  // Everything except the frames.
  [[nodiscard]] std::array<std::uint64_t, 3> rest() const noexcept { return rest(origin, epoch); }
  // Works without a copy of the origin: to copy one that was just written would stall.
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
  // If memory is exhausted, the stack stays unknown. That only costs time at its next lookup.
  void insert(const StackKey& key, std::uint64_t hash, Tag tag) noexcept;

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 17;  // 512 KiB, touched as needed
  // Several times the maximum number of tags. It limits the cost of a program that unloads objects
  // for ever.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 22;

  struct Entry {
    std::uint64_t hash;
    std::uint64_t check;  // a second hash of the stack
    Tag tag;
    std::uint32_t next;  // the bucket's next entry: its index + 1; 0: none
  };
  struct Unmap {
    void operator()(std::atomic<std::uint32_t>* buckets) const noexcept;
  };

  std::unique_ptr<std::atomic<std::uint32_t>[], Unmap> buckets_;  // values as in Entry::next
  SystemMutex lock_;                                              // taken by insert()
  Appended<Entry> entries_;
};

}  // namespace vramscope
