// Fills and empties the halves of a lane.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/lane.h"

#include <sched.h>

#include "allocator/base/capability.h"

namespace vramscope {

namespace {

// A thread that leaves a claim by longjmp holds it for ever, as it would hold a lock.
class CountedAsLock {
 public:
  CountedAsLock() noexcept { system_locks_held = system_locks_held + 1; }
  ~CountedAsLock() { system_locks_held = system_locks_held - 1; }
  CountedAsLock(const CountedAsLock&) = delete;
  CountedAsLock& operator=(const CountedAsLock&) = delete;
};

}  // namespace

// The present half is full, so the other one takes its place.
void TraceLane::turn(ChunkSink& sink, Written& written) noexcept {
  const CountedAsLock counted;
  Half& done = halves_[now_];
  Half& other = halves_[now_ ^ 1];
  done.full.store(true, std::memory_order_release);
  for (;;) {
    if (!other.full.load(std::memory_order_acquire) || write(other, sink, written)) {
      now_ ^= 1;
      break;
    }
    // Another thread is writing the other half. Other threads can have both halves only if a report
    // is made outside the thread that usually makes reports.
    if (write(done, sink, written)) break;
    sched_yield();
  }
  used_ = events_ = 0;
  halves_[now_].part = ++part_;
  state_.clear();
  busy_ = false;
}

// Returns false if another thread has claimed the half. After true, a half that was full can be
// filled again.
bool TraceLane::write(Half& half, ChunkSink& sink, Written& written) noexcept {
  if (half.claimed.exchange(true, std::memory_order_acquire)) return false;
  write_claimed(half, sink, written);
  half.claimed.store(false, std::memory_order_release);
  return true;
}

void TraceLane::write_claimed(Half& half, ChunkSink& sink, Written& written) noexcept {
  const bool full = half.full.load(std::memory_order_acquire);  // read before `filled`: full is
                                                                // stored last
  const std::uint64_t filled = half.filled.load(std::memory_order_acquire);
  const auto bytes = static_cast<std::uint32_t>(filled);
  const auto events = static_cast<std::uint32_t>(filled >> 32);
  if (bytes != half.written_bytes || full) {
    const std::span slice = std::span(half.bytes).first(bytes).subspan(half.written_bytes);
    ChunkHead head{.type = ChunkType::events,
                   .flags = full ? ChunkHead::kLast : std::uint8_t{0},
                   .slice = half.slices,
                   .lane = number_,
                   .part = half.part,
                   .bytes = static_cast<std::uint32_t>(slice.size()),
                   .events = events - half.written_events};
    seal(head, slice);
    const bool taken = sink.write(std::as_bytes(std::span(&head, 1)), slice);
    (taken ? written.events : written.lost) += head.events;
    half.written_bytes = bytes;
    half.written_events = events;
    ++half.slices;
  }
  if (!full) return;
  half.written_bytes = half.written_events = half.slices = 0;
  half.filled.store(0, std::memory_order_relaxed);
  half.full.store(false, std::memory_order_release);
}

bool TraceLane::empty(Which which, ChunkSink& sink, Written& written) noexcept {
  bool all = true;
  for (Half& half : halves_) {
    if (which == Which::full_ones && !half.full.load(std::memory_order_acquire)) continue;
    all = write(half, sink, written) && all;
  }
  return all;
}

}  // namespace vramscope
