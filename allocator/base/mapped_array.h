// A mapped array has pages of its own, which are zeroed, take memory when touched, and grow without
// copying.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "allocator/base/live_memory.h"
#include "allocator/base/machine.h"

namespace vramscope {

// The first two return zeroed pages, or nullptr if the system refuses. Growing keeps the content
// and may move it; if it fails, the old pages stay as they were.
[[nodiscard]] void* map_pages(std::size_t bytes) noexcept;
[[nodiscard]] void* grow_pages(void* pages, std::size_t bytes, std::size_t wanted) noexcept;
void unmap_pages(void* pages, std::size_t bytes) noexcept;
// Gives whole pages inside the range back to the system. They read as zero from now on.
void discard_pages(void* pages, std::size_t bytes) noexcept;

// Elements begin as zero bytes. Growth moves them, so hold indices across it, not references. Live
// pages never move; they take memory at once, so they grow by at most a mebibyte beyond what is
// wanted. Threads: one at a time.
template <class T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  MappedArray() = default;
  explicit MappedArray(LivePages pages) : pages_(pages) {}
  ~MappedArray() { clear(); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return base_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return base_[i]; }

  // Grows to at least `wanted` elements. Returns false without a change if memory is exhausted.
  [[nodiscard]] bool grow_to(std::size_t wanted) noexcept {
    if (wanted <= size_) return true;
    if (pages_.is_live()) return grow_live_to(wanted);
    const std::size_t target = wanted > 2 * size_ ? wanted : 2 * size_;
    void* pages = base_ ? grow_pages(base_, size_ * sizeof(T), target * sizeof(T))
                        : map_pages(target * sizeof(T));
    if (!pages) return false;
    base_ = static_cast<T*>(pages);
    size_ = target;
    return true;
  }

  // Discards elements that are not needed any more: whole pages of them read as zero and take no
  // memory until touched. The content of partial pages stays.
  void discard(std::size_t first, std::size_t count) noexcept {
    if (pages_.is_live()) return;
    discard_pages(base_ + first, count * sizeof(T));
  }

  void clear() noexcept {
    if (base_ && !pages_.is_live()) unmap_pages(base_, size_ * sizeof(T));
    base_ = nullptr;
    size_ = 0;
  }

  void swap(MappedArray& other) noexcept {
    T* base = base_;
    const std::size_t size = size_;
    base_ = other.base_;
    size_ = other.size_;
    other.base_ = base;
    other.size_ = size;
    std::swap(pages_, other.pages_);
  }

 private:
  // Growth of live pages, in bytes: pages of a file take microseconds each, and most programs need
  // few.
  static constexpr std::size_t kLeastStep = kWholePage;
  static constexpr std::size_t kMostStep = std::size_t{1} << 20;
  static_assert(sizeof(T) <= kWholePage);

  [[nodiscard]] static std::size_t whole_pages(std::size_t count) {
    return (count * sizeof(T) + kWholePage - 1) / kWholePage * kWholePage;
  }
  [[nodiscard]] bool grow_live_to(std::size_t wanted) noexcept {
    const std::size_t bytes = whole_pages(size_);
    const std::size_t more = std::clamp(bytes, kLeastStep, kMostStep);
    const std::size_t target = std::max(whole_pages(wanted), bytes + more);
    void* const pages = pages_.memory->grow(pages_.part, bytes, target);
    if (pages == nullptr) return false;
    base_ = static_cast<T*>(pages);
    size_ = target / sizeof(T);
    return true;
  }

  T* base_ = nullptr;
  std::size_t size_ = 0;
  LivePages pages_;
};

}  // namespace vramscope
