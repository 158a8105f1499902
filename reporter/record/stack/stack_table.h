// StackTable finds the tag of a raw stack (return addresses) that was seen before. It keeps two
// hashes of each, not the addresses: of 2^20 stacks two meet in 128 bits once in 10^26 processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "allocator/ground/appended.h"
#include "allocator/ground/capability.h"
#include "allocator/ground/place.h"
#include "reporter/ground/axes.h"

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
  static constexpr std::size_t kBuckets = std::size_t{1} << 17;  // 512 KiB, touched as needed
  // Several times the tags there can be; bounds what a program costs us that unloads forever.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 22;

  struct Entry {
    std::uint64_t hash;
    std::uint64_t check;  // another hash of the same
    Tag tag;
    std::uint32_t next;  // of the bucket: its index + 1; 0: none
  };
  struct Unmap {
    void operator()(std::atomic<std::uint32_t>* buckets) const noexcept;
  };

  std::unique_ptr<std::atomic<std::uint32_t>[], Unmap> buckets_;  // as Entry::next
  SystemMutex lock_;                                              // of those who insert
  Appended<Entry> entries_;
};

}  // namespace vramscope
