// A caching allocator as one writes it first: blocks on the heap, ordered sets, a hash map, a
// mutex, and a counter for each value of the statistics. It follows PyTorch's structure and policy
// (default options, one stream), so it stands in for allocators of that kind.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <unordered_map>

#include "allocator/base/size_policy.h"
#include "allocator/base/statistics.h"
#include "test/bench/plugin.h"

using vramscope::bench::Plugin;

namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kGrain = 2 << 20;

struct Block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
  bool live = false;
  bool small = false;
  Block* prev = nullptr;
  Block* next = nullptr;
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
  }
};
using FreeBlocks = std::set<Block*, BySize>;

class Naive {
 public:
  explicit Naive(std::uint64_t capacity) : capacity_(capacity) {}
  ~Naive() {
    for (auto& [address, first] : segments_) {
      for (Block* block = first; block != nullptr;) {
        Block* next = block->next;
        delete block;
        block = next;
      }
    }
  }
  Naive(const Naive&) = delete;
  Naive& operator=(const Naive&) = delete;

  std::uint64_t allocate(std::uint64_t bytes, std::uint32_t tag) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t rounded = vramscope::round_request(bytes);
    const bool small = rounded <= vramscope::kSmallRequest;
    Block* block = take(rounded, small);
    if (block == nullptr) return 0;
    const bool was_part = block->prev != nullptr || block->next != nullptr;
    const std::uint64_t before = block->bytes;
    split(block, rounded, small);
    block->live = true;
    block->requested = bytes;
    live_[block->address] = block;
    tags_[tag] += bytes;
    count_split(block, small, was_part, before);
    change(small, block->bytes, bytes, 1);
    return block->address;
  }

  void release(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    Block* block = found->second;
    live_.erase(found);
    block->live = false;
    change(block->small, block->bytes, block->requested, -1);
    merge(block, block->next, false);
    merge(block, block->prev, true);
    free_[block->small].insert(block);
  }

  [[nodiscard]] std::uint64_t peak_reserved() const {
    return static_cast<std::uint64_t>(reserved_.all.peak);
  }

 private:
  Block* take(std::uint64_t rounded, bool small) {
    FreeBlocks& blocks = free_[small];
    Block key;
    key.bytes = rounded;
    const auto best = blocks.lower_bound(&key);
    if (best == blocks.end()) return new_segment(rounded, small);
    Block* block = *best;
    blocks.erase(best);
    return block;
  }

  Block* new_segment(std::uint64_t rounded, bool small) {
    const std::uint64_t bytes = vramscope::segment_bytes(rounded, {});
    if (held_ + bytes > capacity_) return nullptr;
    Block* block = new Block;
    block->address = next_;
    block->bytes = bytes;
    block->small = small;
    next_ += (bytes + kGrain - 1) / kGrain * kGrain;
    held_ += bytes;
    segments_[block->address] = block;
    each(reserved_, small, static_cast<std::int64_t>(bytes));
    return block;
  }

  void split(Block* block, std::uint64_t rounded, bool small) {
    const std::uint64_t rest = block->bytes - rounded;
    const auto pool = small ? vramscope::PoolClass::small : vramscope::PoolClass::large;
    if (!vramscope::worth_splitting(pool, rest)) return;
    Block* upper = new Block;
    upper->address = block->address + rounded;
    upper->bytes = rest;
    upper->small = small;
    upper->prev = block;
    upper->next = block->next;
    if (upper->next != nullptr) upper->next->prev = upper;
    block->next = upper;
    block->bytes = rounded;
    free_[small].insert(upper);
  }

  void merge(Block* block, Block* other, bool is_below) {
    if (other == nullptr || other->live) return;
    free_[block->small].erase(other);
    each(split_, block->small, -1);
    each(split_bytes_, block->small, -static_cast<std::int64_t>(other->bytes));
    if (is_below) {
      if (segments_.count(other->address) != 0) segments_[other->address] = block;
      block->address = other->address;
      block->prev = other->prev;
      if (block->prev != nullptr) block->prev->next = block;
    } else {
      block->next = other->next;
      if (block->next != nullptr) block->next->prev = block;
    }
    block->bytes += other->bytes;
    delete other;
  }

  void count_split(const Block* block, bool small, bool was_part, std::uint64_t before) {
    const auto bytes = static_cast<std::int64_t>(block->bytes);
    const bool is_part = block->prev != nullptr || block->next != nullptr;
    if (was_part) {
      each(split_bytes_, small, -bytes);
      if (block->bytes == before) each(split_, small, -1);
    } else if (is_part) {
      each(split_bytes_, small, static_cast<std::int64_t>(before) - bytes);
      each(split_, small, 1);
    }
  }

  static void each(vramscope::PooledStat& stat, bool small, std::int64_t amount) {
    for (vramscope::Stat* one : {&stat.all, small ? &stat.small_pool : &stat.large_pool}) {
      amount >= 0 ? one->increase(amount) : one->decrease(-amount);
    }
  }

  void change(bool small, std::uint64_t bytes, std::uint64_t requested, std::int64_t sign) {
    each(allocation_, small, sign);
    each(active_, small, sign);
    each(allocated_bytes_, small, sign * static_cast<std::int64_t>(bytes));
    each(active_bytes_, small, sign * static_cast<std::int64_t>(bytes));
    each(requested_bytes_, small, sign * static_cast<std::int64_t>(requested));
  }

  std::mutex mutex_;
  std::uint64_t capacity_;
  std::uint64_t next_ = kFirst;
  std::uint64_t held_ = 0;
  std::array<FreeBlocks, 2> free_;  // large, small
  std::unordered_map<std::uint64_t, Block*> live_;
  std::unordered_map<std::uint64_t, Block*> segments_;  // to their first blocks
  std::unordered_map<std::uint32_t, std::uint64_t> tags_;
  vramscope::PooledStat allocation_, active_, allocated_bytes_, active_bytes_, requested_bytes_;
  vramscope::PooledStat split_, split_bytes_, reserved_;
};

void* create(std::uint64_t capacity) { return new Naive(capacity); }

void* allocate(void* self, std::size_t bytes, std::uint32_t tag) {
  return reinterpret_cast<void*>(static_cast<Naive*>(self)->allocate(bytes, tag));
}

void release(void* self, void* address) {
  static_cast<Naive*>(self)->release(reinterpret_cast<std::uint64_t>(address));
}

void destroy(void* self) { delete static_cast<Naive*>(self); }

std::uint64_t peak(void* self) { return static_cast<Naive*>(self)->peak_reserved(); }

}  // namespace

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  static const Plugin plugin = {"ordered sets", 1, 512, create, allocate, release, destroy, peak};
  *count = 1;
  return &plugin;
}
