// TagCounts counts, by tag, the allocations that failed because memory ran out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/base/capability.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/place.h"
#include "reporter/base/facts.h"
#include "reporter/record/reach.h"

namespace vramscope {

// Threads: any. If a tag gets no memory for its counts, it keeps none.
class TagCounts {
 public:
  static constexpr std::size_t kChunk = 1024;
  static constexpr std::size_t kChunks = 1024;  // kChunks chunks hold Recorder::kMaxTags
  struct Row {
    std::atomic<std::uint64_t> refused_count{0};
    std::atomic<std::uint64_t> refused_bytes{0};
  };
  using Chunk = std::array<Row, kChunk>;
  using Chunks = std::array<std::atomic<Chunk*>, kChunks>;

  // `shown` gets a pointer to every chunk, for readers of the live file.
  TagCounts(LiveMemory* live, Chunks& shown) noexcept : live_(live), shown_(shown) {}
  ~TagCounts();
  TagCounts(const TagCounts&) = delete;
  TagCounts& operator=(const TagCounts&) = delete;

  // Makes room for `tag`. May throw bad_alloc.
  void prepare(Tag tag);

  void count_refused(Tag tag, std::uint64_t bytes) noexcept {
    Row* const row = find(tag);
    if (row == nullptr) return;
    std::uint64_t sum = row->refused_bytes.load(std::memory_order_relaxed);
    while (!row->refused_bytes.compare_exchange_weak(sum, capped_sum(sum, bytes),
                                                     std::memory_order_relaxed)) {
    }
    row->refused_count.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns the counts of `tag` in the chunks that can be read, or null if it has none.
  [[nodiscard]] static const Row* find(const Chunks& chunks, Tag tag, const Reach& reach) {
    if (tag / kChunk >= kChunks) return nullptr;
    const Chunk* const chunk =
        reach.at(static_cast<const Chunk*>(chunks[tag / kChunk].load(std::memory_order_acquire)));
    return chunk == nullptr ? nullptr : &(*chunk)[tag % kChunk];
  }

 private:
  [[nodiscard]] Row* find(Tag tag) const noexcept {
    if (tag / kChunk >= kChunks) return nullptr;
    Chunk* const chunk = chunks_[tag / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[tag % kChunk];
  }

  LiveMemory* const live_;
  Chunks& shown_;
  Chunks chunks_{};
  SystemMutex growing_;
};

}  // namespace vramscope
