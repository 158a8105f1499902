// A chained hash table whose entries are written once, then published.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/stack_table.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "reporter/record/stack/hash.h"

namespace vramscope {

std::array<std::uint64_t, 3> StackKey::rest(const Origin& origin, std::uint32_t epoch) noexcept {
  return {std::uint64_t(origin.sampling) << 48 | std::uint64_t{origin.size_class} << 40 |
              std::uint64_t{origin.function} << 24 | std::uint64_t(origin.place.kind) << 16 |
              origin.place.device,
          std::uint64_t{origin.stream} << 32 | origin.thread,
          std::uint64_t{epoch} << 32 | origin.range};
}

struct StackTable::Entry {
  Entry* next;
  std::uint64_t hash;
  std::array<std::uint64_t, 3> rest;
  Tag tag;
  std::uint32_t depth;

  // `depth` of them, in the same piece of memory, behind the entry.
  [[nodiscard]] std::uintptr_t* frames() noexcept {
    return reinterpret_cast<std::uintptr_t*>(this + 1);
  }
  [[nodiscard]] const std::uintptr_t* frames() const noexcept {
    return reinterpret_cast<const std::uintptr_t*>(this + 1);
  }
  [[nodiscard]] bool matches(const StackKey& key, std::uint64_t key_hash) const noexcept {
    return hash == key_hash && rest == key.rest() && depth == key.frames.size() &&
           (depth == 0 || std::memcmp(frames(), key.frames.data(), key.frames.size_bytes()) == 0);
  }
};

void StackTable::Unmap::operator()(std::atomic<Entry*>* buckets) const noexcept {
  std::free(static_cast<void*>(buckets));
}

StackTable::StackTable()
    : buckets_(
          static_cast<std::atomic<Entry*>*>(std::calloc(kBuckets, sizeof(std::atomic<Entry*>)))) {
  if (!buckets_) throw std::bad_alloc();
}

StackTable::~StackTable() {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    for (Entry* entry = buckets_[i].load(std::memory_order_relaxed); entry != nullptr;) {
      std::free(std::exchange(entry, entry->next));
    }
  }
}

std::uint64_t StackTable::hash(const StackKey& key) noexcept {
  const auto rest = key.rest();
  const std::uint64_t hash = mix(mix(kHashSeed, rest[0], rest[1]), rest[2]);
  // Two frames a multiplication, and four chains of them side by side: a chain is what hashing
  // costs.
  const std::span<const std::uintptr_t> f = key.frames;
  std::uint64_t a = hash, b = ~hash, c = hash ^ kHashSeed, d = ~c;
  std::size_t i = 0;
  for (; i + 8 <= f.size(); i += 8) {
    a = mix(a, f[i], f[i + 1]);
    b = mix(b, f[i + 2], f[i + 3]);
    c = mix(c, f[i + 4], f[i + 5]);
    d = mix(d, f[i + 6], f[i + 7]);
  }
  const std::size_t left = f.size() - i;
  if (left >= 2) a = mix(a, f[i], f[i + 1]);
  if (left >= 4) b = mix(b, f[i + 2], f[i + 3]);
  if (left >= 6) c = mix(c, f[i + 4], f[i + 5]);
  if (left % 2 != 0) d = mix(d, f.back());
  return mix(mix(a, b, c), d);
}

Tag StackTable::find(const StackKey& key, std::uint64_t hash) const noexcept {
  const Entry* entry = buckets_[hash % kBuckets].load(std::memory_order_acquire);
  while (entry != nullptr && !entry->matches(key, hash)) entry = entry->next;
  return entry == nullptr ? 0 : entry->tag;
}

void StackTable::insert(const StackKey& key, std::uint64_t hash, Tag tag) noexcept {
  if (entries_.load(std::memory_order_relaxed) >= kMaxEntries) return;
  void* const memory = std::malloc(sizeof(Entry) + key.frames.size_bytes());
  if (memory == nullptr) return;
  Entry* const entry = ::new (memory) Entry{
      .next = nullptr,
      .hash = hash,
      .rest = key.rest(),
      .tag = tag,
      .depth = static_cast<std::uint32_t>(key.frames.size()),
  };
  if (!key.frames.empty()) {
    std::memcpy(entry->frames(), key.frames.data(), key.frames.size_bytes());
  }

  std::atomic<Entry*>& bucket = buckets_[hash % kBuckets];
  const SystemLock guard(locks_[hash % kLocks]);
  if (find(key, hash) != 0) {  // another thread was faster
    std::free(memory);
    return;
  }
  entry->next = bucket.load(std::memory_order_relaxed);
  bucket.store(entry, std::memory_order_release);
  entries_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace vramscope
