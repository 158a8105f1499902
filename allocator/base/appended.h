// Appended is an array that only grows, and whose elements never move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace vramscope {

// Growing wastes no more than one chunk. Threads: one that appends; any that reads what was there
// when it asked for size(), or heard of an element from whoever appended it.
template <class T>
class Appended {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::size_t kChunk = 4096;
  static constexpr std::size_t kMost = kChunk * 4096;

  Appended() = default;
  ~Appended() {
    for (auto& chunk : chunks_) std::free(chunk.load(std::memory_order_relaxed));
  }
  Appended(const Appended&) = delete;
  Appended& operator=(const Appended&) = delete;

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return chunks_[i / kChunk].load(std::memory_order_relaxed)[i % kChunk];
  }
  [[nodiscard]] T& operator[](std::size_t i) {
    return chunks_[i / kChunk].load(std::memory_order_relaxed)[i % kChunk];
  }

  // Gives its index. Throws bad_alloc, and then nothing has changed.
  std::uint32_t add(const T& value) {
    const std::size_t i = size_.load(std::memory_order_relaxed);
    if (i == kMost) throw std::bad_alloc();
    std::atomic<T*>& chunk = chunks_[i / kChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      auto* const made = static_cast<T*>(std::malloc(kChunk * sizeof(T)));
      if (made == nullptr) throw std::bad_alloc();
      chunk.store(made, std::memory_order_release);
    }
    new (&(*this)[i]) T(value);
    size_.store(i + 1, std::memory_order_release);
    return static_cast<std::uint32_t>(i);
  }

 private:
  std::array<std::atomic<T*>, kMost / kChunk> chunks_{};
  std::atomic<std::size_t> size_{0};
};

// Finds the elements of an array of which each is there once, by a hash of theirs that costs
// little. Threads: one at a time.
class AppendedIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  AppendedIndex() = default;
  ~AppendedIndex() { std::free(slots_); }
  AppendedIndex(const AppendedIndex&) = delete;
  AppendedIndex& operator=(const AppendedIndex&) = delete;

  // is_it(index): of one with that hash, perhaps. kNone: there is none.
  template <class IsIt>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsIt&& is_it) const {
    if (slots_ == nullptr) return kNone;
    for (std::size_t at = hash & mask(); slots_[at] != 0; at = (at + 1) & mask()) {
      if (is_it(slots_[at] - 1)) return slots_[at] - 1;
    }
    return kNone;
  }
  // Room for one more, before it is added. hash_of(index). May throw bad_alloc.
  template <class HashOf>
  void make_room(HashOf&& hash_of) {
    if (slots_ == nullptr || (used_ + 1) * 4 > (mask() + 1) * 3) grow(hash_of);
  }
  void add(std::uint64_t hash, std::uint32_t index) noexcept {
    std::size_t at = hash & mask();
    while (slots_[at] != 0) at = (at + 1) & mask();
    slots_[at] = index + 1;
    ++used_;
  }

 private:
  [[nodiscard]] std::size_t mask() const { return (std::size_t{1} << bits_) - 1; }

  template <class HashOf>
  void grow(HashOf&& hash_of) {
    constexpr unsigned kFirstBits = 8;
    const unsigned bits = slots_ == nullptr ? kFirstBits : bits_ + 1;
    const std::size_t before = slots_ == nullptr ? 0 : mask() + 1;
    auto* const wider =
        static_cast<std::uint32_t*>(std::calloc(std::size_t{1} << bits, sizeof(std::uint32_t)));
    if (wider == nullptr) throw std::bad_alloc();
    std::uint32_t* const old = slots_;
    slots_ = wider;
    bits_ = bits;
    used_ = 0;
    for (std::size_t i = 0; i < before; ++i) {
      if (old[i] != 0) add(hash_of(old[i] - 1), old[i] - 1);
    }
    std::free(old);
  }

  std::uint32_t* slots_ = nullptr;  // an index + 1; 0: nothing
  unsigned bits_ = 0;
  std::size_t used_ = 0;
};

}  // namespace vramscope
