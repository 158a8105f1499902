// The allocator's backend on the real driver. It allocates device segments with cuMemAlloc and
// pinned ones with cuMemHostAlloc, and waits by synchronising every context that can access them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>

#include "allocator/base/backend.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/contexts.h"
#include "interpose/driver/page_memory.h"
#include "interpose/driver/shared_wait.h"

namespace vramscope {

struct SegmentChange;

// The last sample of a device's free memory, taken on a thread of the program.
struct FreeMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t taken_ns = 0;  // CLOCK_MONOTONIC; 0: never
};

// Receives each sample of free memory, except those that are part of a Grant.
struct FreeMemoryCallback {
  void (*function)(void* context, std::uint16_t device, std::uint64_t free_bytes,
                   std::uint64_t total_bytes) noexcept = nullptr;
  void* context = nullptr;
};

// Receives each segment that was added or removed. newest() returns the number of the newest
// allocation.
struct SegmentCallback {
  void (*changed)(void* context, const SegmentChange& change) noexcept = nullptr;
  std::uint64_t (*newest)(void* context) noexcept = nullptr;
  void* context = nullptr;
};

[[nodiscard]] Status to_status(CUresult code) noexcept;

// Threads: any.
class CudaBackend final : public Backend {
 public:
  CudaBackend(Contexts& contexts, Captures& captures)
      : contexts_(contexts), captures_(captures), pages_(contexts, captures) {}

  [[nodiscard]] Grant reserve(Place where, std::size_t bytes) noexcept override;
  Reply release(Place where, Address segment) noexcept override;
  [[nodiscard]] Grant reserve_addresses(Place where, std::uint64_t bytes,
                                        std::uint64_t page) noexcept override;
  [[nodiscard]] Grant map(Place where, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept override;
  Reply unmap(Place where, Address address, std::uint64_t bytes,
              std::uint64_t page) noexcept override;
  void release_addresses(Place where, Address address, std::uint64_t bytes) noexcept override;
  Reply wait(Place where) noexcept override;
  Reply wait_first(Place where) noexcept override;
  Reply probe(Place where) noexcept override;
  [[nodiscard]] bool may_wait(Place where) noexcept override;
  [[nodiscard]] bool may_release(Place where) noexcept override;
  [[nodiscard]] std::uint64_t total_bytes(Place where) noexcept override;

  [[nodiscard]] PageMemory& pages() noexcept { return pages_; }

  // Call it once, before the first sample.
  void on_free_memory(FreeMemoryCallback callback) noexcept { callback_ = callback; }
  // Call it once, before the first segment.
  void on_segments(SegmentCallback callback) noexcept { segments_ = callback; }
  // Notes the answer of cuMemGetInfo in the current context of `device`.
  void note_free_memory(std::uint16_t device, std::size_t free_bytes,
                        std::size_t total_bytes) noexcept;
  // Takes a new sample from the driver. Call it on a thread of the program, in its own call that
  // changed the used memory, in a context of `device`, and not while a stream is captured.
  void renew_sample(std::uint16_t device) noexcept;
  // The age at which a sample of free memory is replaced: at driver calls, and at frees that the
  // cache serves. cuMemGetInfo costs about as much as a small cuMemAlloc.
  static constexpr std::uint64_t kSampleEveryNs = 10'000'000;
  static constexpr std::uint64_t kSampleAmidHitsNs = 100'000'000;
  [[nodiscard]] bool is_sample_old(std::uint16_t device, std::uint64_t now_ns,
                                   std::uint64_t age_ns) const noexcept {
    const Sample& sample = samples_[device];
    const std::uint64_t taken_ns = sample.taken_ns.load(std::memory_order_relaxed);
    return taken_ns + age_ns <= now_ns || sample.is_first.load(std::memory_order_relaxed);
  }
  [[nodiscard]] FreeMemory free_memory(std::uint16_t device) const noexcept;
  // Makes the last sample old, so that the next call that would replace an old one does.
  void expire_sample(std::uint16_t device) noexcept {
    samples_[device].is_first.store(true, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] Reply wait_from(std::uint64_t start, Place where) noexcept;
  [[nodiscard]] CUresult wait_here() noexcept;
  [[nodiscard]] CUresult wait_in(Contexts::Generation one) noexcept;
  [[nodiscard]] CUresult wait_in_own(Contexts::Generation own) noexcept;
  [[nodiscard]] CUresult wait_in_others(Place where) noexcept;
  [[nodiscard]] Grant reserve_plain(Place where, std::size_t bytes) noexcept;
  [[nodiscard]] Reply release_in_context(Place where, Address segment) noexcept;
  // Completes the change with the current instant, if there is a callback.
  [[nodiscard]] SegmentChange noted(SegmentChange change) const noexcept;
  void tell(const SegmentChange& change) const noexcept;
  void keep_sample(std::uint16_t device, std::size_t free_bytes, std::size_t total_bytes) noexcept;
  void sample_free_memory(std::uint16_t device, Grant& grant) noexcept;

  struct Sample {
    std::atomic<std::uint64_t> free_bytes{0};
    std::atomic<std::uint64_t> total_bytes{0};
    std::atomic<std::uint64_t> taken_ns{0};
    // Taken during a call whose memory may exist and not be recorded, or too old for somebody.
    std::atomic<bool> is_first{false};
  };
  Contexts& contexts_;
  Captures& captures_;
  SharedWait own_waits_;  // in the current context
  PageMemory pages_;
  FreeMemoryCallback callback_;
  SegmentCallback segments_;
  std::array<Sample, kMaxDevices> samples_{};
};

}  // namespace vramscope
