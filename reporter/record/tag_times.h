// TagTimes adds up, by tag, the time spent in allocating calls, the allocations that were freed at
// once, and those that failed because memory ran out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "allocator/ground/place.h"

namespace vramscope {

// Threads: any. A tag that has no memory for its time keeps none.
class TagTimes {
 public:
  TagTimes() = default;
  ~TagTimes() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // Makes room for `tag`. May throw bad_alloc.
  void prepare(Tag tag) {
    if (tag / kChunk >= kChunks) return;
    std::atomic<Chunk*>& place = chunks_[tag / kChunk];
    if (place.load(std::memory_order_acquire) != nullptr) return;
    auto chunk = std::make_unique<Chunk>();
    Chunk* expected = nullptr;
    if (place.compare_exchange_strong(expected, chunk.get(), std::memory_order_acq_rel)) {
      chunk.release();
    }
  }

  void add(Tag tag, std::uint64_t ns) noexcept {
    if (Row* row = find(tag)) row->ns.fetch_add(ns, std::memory_order_relaxed);
  }
  void count_temporary(Tag tag) noexcept {
    if (Row* row = find(tag)) row->temporary.fetch_add(1, std::memory_order_relaxed);
  }
  void count_refused(Tag tag, std::uint64_t bytes) noexcept {
    Row* const row = find(tag);
    if (row == nullptr) return;
    row->refused_count.fetch_add(1, std::memory_order_relaxed);
    row->refused_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t get(Tag tag) const noexcept {
    const Row* row = find(tag);
    return row == nullptr ? 0 : row->ns.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t temporary(Tag tag) const noexcept {
    const Row* row = find(tag);
    return row == nullptr ? 0 : row->temporary.load(std::memory_order_relaxed);
  }
  struct Refused {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Refused refused(Tag tag) const noexcept {
    const Row* const row = find(tag);
    if (row == nullptr) return {};
    return {.count = row->refused_count.load(std::memory_order_relaxed),
            .bytes = row->refused_bytes.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  static constexpr std::size_t kChunks = 1024;  // together Recorder::kMaxTags
  struct Row {
    std::atomic<std::uint64_t> ns{0};
    std::atomic<std::uint64_t> temporary{0};
    std::atomic<std::uint64_t> refused_count{0};
    std::atomic<std::uint64_t> refused_bytes{0};
  };
  using Chunk = std::array<Row, kChunk>;

  [[nodiscard]] Row* find(Tag tag) const noexcept {
    if (tag / kChunk >= kChunks) return nullptr;
    Chunk* const chunk = chunks_[tag / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[tag % kChunk];
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
};

}  // namespace vramscope
