// Releases tracks the driver calls that are releasing memory. The driver may give an address to
// another thread before it answers the thread that freed it. The new memory is then recorded first,
// and ends the old record in the name of the release.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/caching_allocator.h"

namespace vramscope {

// Threads: any.
class Releases {
 public:
  struct Release {
    Kind kind = Kind::device;
    Address address = 0;
    std::uint64_t newest = 0;    // newest allocation when it began; it does not end later ones
    std::uint64_t start_ns = 0;  // when it began, by the clock of call_time_ns
  };

 private:
  struct alignas(64) Slot;

 public:
  // Lives from before the driver's function until the release is recorded. Beyond kMost at a time a
  // release is not tracked. Threads: one.
  class Underway {
   public:
    Underway(Releases& releases, const Release& release) noexcept
        : releases_(releases), newest_(release.newest), slot_(releases.claim()) {
      if (slot_ != nullptr) releases_.begin(*slot_, release);
    }
    ~Underway() {
      if (slot_ != nullptr) releases_.end(*slot_);
    }
    Underway(const Underway&) = delete;
    Underway& operator=(const Underway&) = delete;

    // Returns what end_before() ended in the name of this release. For a caller that finds no
    // record any more.
    [[nodiscard]] Outcome ended() const noexcept;
    // Removes the record of the memory at the address, and returns it, or ended().
    [[nodiscard]] Outcome forget(CachingAllocator& allocator, Kind kind,
                                 Address address) const noexcept;

   private:
    Releases& releases_;
    const std::uint64_t newest_;
    Slot* const slot_;
  };

  static constexpr std::size_t kMost = 257;

  // Call it when the driver gave memory that is recorded next. It ends the records of earlier
  // memory there in the name of the unfinished release, at the time at which that began.
  void end_before(CachingAllocator& allocator, Kind kind, Address address,
                  std::uint64_t bytes) noexcept {
    const std::uint64_t busy = busy_[0].load(std::memory_order_acquire) |
                               beyond_.load(std::memory_order_acquire) |
                               own_.address.load(std::memory_order_acquire);
    if (busy != 0) [[unlikely]]
      end_overlapped(allocator, kind, address, bytes);
  }

 private:
  struct alignas(64) Slot {
    std::atomic<Address> address{0};  // 0: the rest is not set
    std::atomic<Kind> kind{};
    std::atomic<std::uint64_t> newest{0};
    std::atomic<std::uint64_t> start_ns{0};
    // What was ended; 0 bytes: nothing.
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> where{0};
    std::atomic<std::uint64_t> serial{0};
    std::atomic<Tag> tag{0};
  };

  static constexpr std::size_t kBits = 64;  // of a word

  [[nodiscard]] Slot* claim() noexcept;
  [[nodiscard]] Slot* claim_in(std::size_t word) noexcept;
  void begin(Slot& slot, const Release& release) noexcept;
  void end(Slot& slot) noexcept;
  [[gnu::cold]] void end_overlapped(CachingAllocator& allocator, Kind kind, Address address,
                                    std::uint64_t bytes) noexcept;

  [[gnu::cold]] void end_overlapped_by(Slot& slot, CachingAllocator& allocator, Kind kind,
                                       Address address, std::uint64_t bytes) noexcept;

  std::atomic<std::uintptr_t> owner_{0};  // of own_: the control block of its thread; 0: none yet
  std::atomic<std::uint64_t> beyond_{0};  // busy slots after those of the first word
  std::array<std::atomic<std::uint64_t>, kMost / kBits> busy_{};  // a bit a slot
  Slot own_;                                                      // busy while it has an address
  std::array<Slot, kMost - 1> slots_;
};

}  // namespace vramscope
