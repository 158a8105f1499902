// TraceLane is the pair of buffers that one thread fills with its events and others empty.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reporter/record/trace/code.h"

namespace vramscope {

// Where chunks go. Threads: any, without a lock of the caller's.
class ChunkSink {
 public:
  ChunkSink() = default;
  ChunkSink(const ChunkSink&) = delete;
  ChunkSink& operator=(const ChunkSink&) = delete;
  virtual ~ChunkSink() = default;
  // Both parts, next to each other. False: they are not in the file, and nothing will be.
  [[nodiscard]] virtual bool write(std::span<const std::byte> head,
                                   std::span<const std::byte> bytes) noexcept = 0;
};

// Two halves: while one is written to the file the thread goes on in the other. A thread that has
// filled both writes one itself, the other than the one that somebody is just writing, so it waits
// for the file system and never for another thread; no event is dropped.
// Threads: add() the one that owns the lane; the others any.
class TraceLane {
 public:
  static constexpr std::size_t kHalfBytes = std::size_t{1} << 16;

  explicit TraceLane(std::uint32_t number) : number_(number) {}

  // What came of emptying halves.
  struct Written {
    std::uint64_t events = 0;
    std::uint64_t lost = 0;  // that the file did not take
    void add(const Written& other) noexcept {
      events += other.events;
      lost += other.lost;
    }
  };

  // True: a half is full, and whoever empties halves should know.
  [[nodiscard]] bool add(const TraceEvent& event, ChunkSink& sink, Written& written) noexcept {
    const bool turns = used_ > kHalfBytes - TraceState::kMostBytes || busy_;
    if (turns) [[unlikely]]
      turn(sink, written);
    busy_ = true;
    Half& half = halves_[now_];
    std::byte* const end = state_.put(event, half.bytes.data() + used_);
    used_ = static_cast<std::uint32_t>(end - half.bytes.data());
    half.filled.store(std::uint64_t{++events_} << 32 | used_, std::memory_order_release);
    busy_ = false;
    return turns;
  }

  enum class Which : bool { full_ones, all };
  // Writes what is there. False: somebody else is at it in one of the halves.
  [[nodiscard]] bool empty(Which which, ChunkSink& sink, Written& written) noexcept;

  TraceLane* next = nullptr;  // of all lanes; set once

 private:
  struct Half {
    std::atomic<bool> claimed{false};      // by whom writes of it now
    std::atomic<bool> full{false};         // set by the owner, cleared by who wrote it to its end
    std::atomic<std::uint64_t> filled{0};  // events, bytes in the lower half
    std::uint32_t part = 0;                // set by the owner before `filled`
    // Of the claimant: what of it is in the file.
    std::uint32_t written_bytes = 0;
    std::uint32_t written_events = 0;
    std::uint16_t slices = 0;
    std::array<std::byte, kHalfBytes> bytes;  // NOLINT: written before it is read
  };

  void turn(ChunkSink& sink, Written& written) noexcept;
  [[nodiscard]] bool write(Half& half, ChunkSink& sink, Written& written) noexcept;
  void write_claimed(Half& half, ChunkSink& sink, Written& written) noexcept;

  const std::uint32_t number_;
  // The owner's.
  volatile bool busy_ = false;  // still set on entry: a signal handler left add() by longjmp
  std::uint32_t now_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t events_ = 0;
  std::uint32_t part_ = 0;
  TraceState state_;
  std::array<Half, 2> halves_;
};

}  // namespace vramscope
