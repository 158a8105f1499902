// A chained hash table whose entries are written once and then published.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/stack_table.h"

#include <cstdlib>
#include <new>

#include "reporter/record/stack/hash.h"

namespace vramscope {

std::array<std::uint64_t, 3> StackKey::rest(const Origin& origin, std::uint32_t epoch) noexcept {
  return {std::uint64_t(origin.sampling) << 48 | std::uint64_t{origin.size_class} << 40 |
              std::uint64_t{origin.function} << 24 | std::uint64_t(origin.place.kind) << 16 |
              origin.place.device,
          std::uint64_t{origin.stream} << 32 | origin.thread,
          std::uint64_t{epoch} << 32 | origin.range};
}

namespace {

// Hashes two frames with each multiplication, in four independent chains: the length of a chain is
// the cost of hashing.
[[gnu::always_inline]] inline std::uint64_t hash_from(std::uint64_t seed, const StackKey& key) {
  const auto rest = key.rest();
  const std::uint64_t hash = mix(mix(seed, rest[0], rest[1]), rest[2], key.frames.size());
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

std::uint64_t check_of(const StackKey& key) {
  constexpr std::uint64_t kOtherSeed = 0xe7037ed1a0b428dbULL;  // of wyhash, as in mix()
  return hash_from(kOtherSeed, key);
}

}  // namespace

void StackTable::Unmap::operator()(std::atomic<std::uint32_t>* buckets) const noexcept {
  std::free(static_cast<void*>(buckets));
}

StackTable::StackTable()
    : buckets_(static_cast<std::atomic<std::uint32_t>*>(
          std::calloc(kBuckets, sizeof(std::atomic<std::uint32_t>)))) {
  static_assert(kMaxEntries <= Appended<Entry>::kMost);
  if (!buckets_) throw std::bad_alloc();
}

StackTable::~StackTable() = default;

std::uint64_t StackTable::hash(const StackKey& key) noexcept { return hash_from(kHashSeed, key); }

Tag StackTable::find(const StackKey& key, std::uint64_t hash) const noexcept {
  std::uint32_t at = buckets_[hash % kBuckets].load(std::memory_order_acquire);
  while (at != 0) {
    const Entry& entry = entries_[at - 1];
    if (entry.hash == hash && entry.check == check_of(key)) return entry.tag;
    at = entry.next;
  }
  return 0;
}

void StackTable::insert(const StackKey& key, std::uint64_t hash, Tag tag) noexcept {
  std::atomic<std::uint32_t>& bucket = buckets_[hash % kBuckets];
  const SystemLock guard(lock_);
  if (entries_.size() >= kMaxEntries || find(key, hash) != 0) return;  // another thread was faster
  try {
    const std::uint32_t next = bucket.load(std::memory_order_relaxed);
    const std::uint32_t index =
        entries_.add({.hash = hash, .check = check_of(key), .tag = tag, .next = next});
    bucket.store(index + 1, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // the stack stays unknown
  }
}

}  // namespace vramscope
