// Kept records are those of an array as they were at one instant, copied a piece at a time while
// others change the array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "allocator/base/mapped_array.h"

namespace vramscope {

// Consecutive records that somebody else owns.
template <class T>
struct Records {
  const T* first = nullptr;
  std::size_t count = 0;
  [[nodiscard]] bool has(std::size_t i) const { return i < count; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return first[i]; }
};

// A writer calls keep() before it changes a record, which copies the record's piece once. go_on()
// copies the other pieces in order. So each record is copied exactly once. Threads: one at a time.
template <class T>
class KeptRecords {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Records in a piece: a writer copies at most this many in one keep().
  static constexpr std::size_t kPiece = std::max<std::size_t>(1, 1024 / sizeof(T));

  // Allocates and touches memory for `count` records. May throw bad_alloc; then there is no room at
  // all.
  void make_room(std::size_t count) {
    room_ = count_ = 0;
    is_kept_.assign(count / kPiece + 1, false);
    records_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlignment)));
    constexpr std::size_t kPage = 4096;
    auto* const bytes = reinterpret_cast<volatile char*>(records_.get());
    for (std::size_t i = 0; i < count * sizeof(T); i += kPage) bytes[i] = 0;
    room_ = count;
  }
  [[nodiscard]] std::size_t room() const { return room_; }

  // Begins a copy of the first `count` records of the array, as they are now. Call it once, with
  // room for them.
  void begin(const MappedArray<T>& array, std::size_t count) noexcept {
    array_ = &array;
    count_ = count;
  }
  // Call it before record `i` is written to, as long as the copy is not complete.
  void keep(std::size_t i) noexcept {
    if (i < count_ && !is_kept_[i / kPiece]) keep_piece(i / kPiece);
  }
  // Copies up to `bytes`, and less than a piece more, and subtracts what it copied. Returns true if
  // the copy is complete.
  [[nodiscard]] bool go_on(std::size_t& bytes) noexcept {
    for (; next_ * kPiece < count_; ++next_) {
      if (is_kept_[next_]) continue;
      if (bytes == 0) return false;
      bytes -= std::min(bytes, kPiece * sizeof(T));
      keep_piece(next_);
    }
    return true;
  }

  [[nodiscard]] Records<T> records() const { return {records_.get(), count_}; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return records_.get()[i]; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct End {
    void operator()(T* records) const noexcept { ::operator delete(records, kAlignment); }
  };

  void keep_piece(std::size_t piece) noexcept {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, count_ - first);
    std::memcpy(records_.get() + first, &(*array_)[first], count * sizeof(T));
    is_kept_[piece] = true;
  }

  std::unique_ptr<T, End> records_;
  std::vector<bool> is_kept_;  // by piece
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::size_t next_ = 0;  // piece
  const MappedArray<T>* array_ = nullptr;
};

// A list of the copies that are being made of one thing, linked by their member `next`. Threads:
// one at a time.
template <class Copy>
class Copies {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  void add(Copy& copy) noexcept {
    copy.next = first_;
    first_ = &copy;
  }
  void remove(const Copy& copy) noexcept {
    Copy** link = &first_;
    while (*link != &copy) link = &(*link)->next;
    *link = copy.next;
  }
  template <class Do>
  void each(Do what) const noexcept {
    for (Copy* copy = first_; copy != nullptr; copy = copy->next) what(*copy);
  }

 private:
  Copy* first_ = nullptr;
};

}  // namespace vramscope
