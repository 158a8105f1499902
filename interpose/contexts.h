// Which driver contexts exist, as places of the allocator. A handle's value can come back after a
// reset, so identity is (handle, epoch): each life of a handle has its own entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "allocator/place.h"
#include "interpose/functions.h"

namespace vramscope {

// Where memory of `kind` is that belongs to a context.
[[nodiscard]] constexpr Place in_context(Kind kind, std::uint16_t device, std::uint32_t context) {
  return {.kind = kind, .device = has_device(kind) ? device : std::uint16_t{0}, .context = context};
}

// Threads: any.
class Contexts {
 public:
  struct Current {
    CUresult code = CUDA_SUCCESS;  // the driver's own; INVALID_CONTEXT when no context is current
    Place place;                   // kind device; set on success
    bool first_of_device = false;  // nobody asked about this device before
  };
  // The calling thread's current context.
  [[nodiscard]] Current current() noexcept;

  // Handle of a device place, null once the context has ended.
  [[nodiscard]] CUcontext handle(Place place) const noexcept;

  // A context lives until everybody who attached to it has detached too. detached: did somebody
  // else still hold it?
  void attached(CUcontext context) noexcept;
  [[nodiscard]] bool detached(CUcontext context) noexcept;
  void forget_attachments(CUcontext context) noexcept;

  // `view`, made from the green context `green`, shares its memory with `primary`: it is that
  // place.
  void add_view(const void* green, CUcontext view, CUcontext primary) noexcept;
  void remove_views(const void* green) noexcept;

  // `context` ended: calls end(place) for each place that it was. Its handle means something new
  // from now on.
  template <class F>
  void ended(CUcontext context, F end) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
      Entry& entry = entries_[i];
      if (entry.context.load(std::memory_order_relaxed) != context) continue;
      entry.context.store(nullptr, std::memory_order_release);
      end(Place{Kind::device, entry.device, i});
    }
    generation_.fetch_add(1, std::memory_order_release);
  }

 private:
  struct Entry {
    std::atomic<CUcontext> context{nullptr};
    std::uint16_t device = 0;
  };
  static constexpr std::uint32_t kMaxContexts = 4096;  // lives, not handles; far above real use

  [[nodiscard]] std::uint32_t find_or_add(CUcontext context, CUdevice device) noexcept;

  struct View {
    const void* green = nullptr;
    CUcontext view = nullptr;
    CUcontext primary = nullptr;
  };
  [[nodiscard]] CUcontext memory_owner(CUcontext context) noexcept;

  std::mutex mutex_;
  std::vector<CUcontext> attachments_;  // one entry an attachment
  std::vector<View> views_;
  std::array<Entry, kMaxContexts> entries_{};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<std::uint64_t> devices_seen_{0};  // bit i: device i
};

// Makes the context of a place current for one scope, when it is not already. A thread without any
// context gets none: code() is INVALID_CONTEXT then, what the driver says to the program's own
// call.
class Within {
 public:
  explicit Within(CUcontext context) noexcept;
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  [[nodiscard]] CUresult code() const { return code_; }

 private:
  CUresult code_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

}  // namespace vramscope
