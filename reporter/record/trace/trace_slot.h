// TraceSlot holds the trace into which events go now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace vramscope {

class Trace;

// Threads: get() any, keep() one.
class TraceSlot {
 public:
  TraceSlot() noexcept;
  ~TraceSlot();
  TraceSlot(const TraceSlot&) = delete;
  TraceSlot& operator=(const TraceSlot&) = delete;

  // Null: events go nowhere.
  [[nodiscard]] Trace* get() const noexcept { return now_.load(std::memory_order_acquire); }
  // Puts a trace here; null: none. Returns the one until then, whose lanes threads may still use:
  // it must live as long as they may record.
  std::unique_ptr<Trace> keep(std::unique_ptr<Trace> trace) noexcept;

 private:
  std::unique_ptr<Trace> kept_;
  std::atomic<Trace*> now_{nullptr};
};

}  // namespace vramscope
