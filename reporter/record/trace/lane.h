// TraceLane is the pair of buffers that one thread fills with its events and other threads empty.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reporter/record/trace/code.h"

namespace vramscope {

// Receives the chunks. Threads: any, without a lock of the caller.
class ChunkSink {
 public:
  ChunkSink() = default;
  ChunkSink(const ChunkSink&) = delete;
  ChunkSink& operator=(const ChunkSink&) = delete;
  virtual ~ChunkSink() = default;
  // Writes both parts next to each other. Returns false if they are not in the file; no later chunk
  // will be, either.
  [[nodiscard]] virtual bool write(std::span<const std::byte> head,
                                   std::span<const std::byte> bytes) noexcept = 0;
};

// The lane has two halves: while one is written to the file, the thread continues in the other. A
// thread that has filled both writes one itself, and never the one that another thread is writing.
// So it waits for the file system but never for another thread, and no event is dropped. Threads:
// add() only the owner of the lane; the other functions any.
class TraceLane {
 public:
  static constexpr std::size_t kHalfBytes = std::size_t{1} << 16;

  TraceLane(std::uint32_t number, const void* trace) : trace(trace), number_(number) {}

  // The result of emptying halves.
  struct Written {
    std::uint64_t events = 0;
    std::uint64_t lost = 0;  // events that the file did not take
    void add(const Written& other) noexcept {
      events += other.events;
      lost += other.lost;
    }
  };

  // Adds an event. Returns true if a half is full, so that the thread that empties halves must be
  // woken.
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
  // Writes the events in the halves. Returns false if another thread is writing one of them.
  [[nodiscard]] bool empty(Which which, ChunkSink& sink, Written& written) noexcept;

  const void* const trace;    // to which it belongs
  TraceLane* next = nullptr;  // in the list of all lanes; set once

 private:
  struct Half {
    std::atomic<bool> claimed{false};  // a thread is writing it
    std::atomic<bool> full{false};  // set by the owner, cleared by the thread that wrote all of it
    std::atomic<std::uint64_t> filled{0};  // events; bytes in the lower half
    std::uint32_t part = 0;                // set by the owner before `filled`
    // Only the thread that claimed the half uses these: how much of it is in the file.
    std::uint32_t written_bytes = 0;
    std::uint32_t written_events = 0;
    std::uint16_t slices = 0;
    std::array<std::byte, kHalfBytes> bytes;  // NOLINT: written before it is read
  };

  void turn(ChunkSink& sink, Written& written) noexcept;
  [[nodiscard]] bool write(Half& half, ChunkSink& sink, Written& written) noexcept;
  void write_claimed(Half& half, ChunkSink& sink, Written& written) noexcept;

  const std::uint32_t number_;
  // Only the owner uses these.
  volatile bool busy_ = false;  // still set on entry if a signal handler left add() by longjmp
  std::uint32_t now_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t events_ = 0;
  std::uint32_t part_ = 0;
  TraceState state_;
  std::array<Half, 2> halves_;
};

}  // namespace vramscope
