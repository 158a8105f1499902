// Every live piece of memory that the simulated driver knows, by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "allocator/ground/place.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// How memory came to have its address.
enum class Origin : std::uint8_t {
  allocated,  // by this process
  imported,   // from another one, by cuIpcOpenMemHandle
  mapped,     // virtual memory, by cuMemMap
  variable,   // of a module, which ends it
};

struct Allocation {
  Address start = 0;
  std::uint64_t bytes = 0;  // as the program asked
  Kind kind = Kind::device;
  Origin origin = Origin::allocated;
  CUcontext context = nullptr;  // whose end is its end; null: outlives contexts
  int device = 0;               // the device that holds it, or whose context pinned it
  unsigned flags = 0;           // of cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged
  CUmemoryPool pool = nullptr;  // stream-ordered memory only
  std::uint64_t buffer_id = 0;  // never reused in a process
  bool sync_memops = false;

  // Memory of cuMemAlloc, cuMemAllocManaged and the pools: what cuMemFree takes.
  [[nodiscard]] bool is_freeable() const { return !on_host() && origin == Origin::allocated; }
  [[nodiscard]] bool is_plain() const {  // of cuMemAlloc
    return kind == Kind::device && origin == Origin::allocated;
  }
  [[nodiscard]] bool on_host() const { return kind == Kind::pinned || kind == Kind::registered; }
  [[nodiscard]] Address end() const { return start + bytes; }
};

// Told of each allocation that came (1) or went (0). Calls nothing of the driver's.
using Watcher = void (*)(int came, int kind, int device, std::uint64_t address,
                         std::uint64_t bytes);

// Threads: any.
class MemoryTable {
 public:
  void watch(Watcher watcher);
  // Sets the buffer id. False, and nothing added, when the range touches a live one.
  bool add(Allocation allocation);
  [[nodiscard]] std::optional<Allocation> find(Address inside) const;
  // The allocation that holds all of the range; zero bytes need only its start.
  [[nodiscard]] std::optional<Allocation> find(Address start, std::uint64_t bytes) const;
  // The first allocation that has bytes of the range.
  [[nodiscard]] std::optional<Allocation> find_any(Address start, std::uint64_t bytes) const;
  // Takes out and returns the allocation that starts here, if `accepts` says yes to it.
  template <class Accepts>
  std::optional<Allocation> take(Address start, Accepts accepts) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(start);
    if (found == live_.end() || !accepts(found->second)) return std::nullopt;
    const Allocation taken = found->second;
    live_.erase(found);
    tell(0, taken);
    return taken;
  }
  // Calls visit(allocation) for each live one; nothing of this table's may be called there.
  template <class F>
  void each(F visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [start, allocation] : live_) visit(allocation);
  }
  // Takes out everything that ends with this context, or lives in this pool.
  std::vector<Allocation> take_all_of(CUcontext context);
  std::vector<Allocation> take_all_of(CUmemoryPool pool);
  void set_sync_memops(Address start, bool on);

 private:
  void tell(int came, const Allocation& allocation) const;
  void tell_gone(const std::vector<Allocation>& allocations) const;

  mutable std::mutex mutex_;  // guards everything below
  Watcher watcher_ = nullptr;
  std::map<Address, Allocation> live_;
  std::uint64_t last_buffer_id_ = 0;
};

}  // namespace vramscope::simulator
