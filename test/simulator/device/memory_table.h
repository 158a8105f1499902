// MemoryTable holds every live piece of memory that the simulated driver knows, by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "allocator/base/place.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// How memory got its address.
enum class Origin : std::uint8_t {
  allocated,  // by this process
  imported,   // from another process, by cuIpcOpenMemHandle
  mapped,     // virtual memory, by cuMemMap
  variable,   // of a module, with which it ends
};

struct Allocation {
  Address start = 0;
  std::uint64_t bytes = 0;  // as the program requested
  Kind kind = Kind::device;
  Origin origin = Origin::allocated;
  CUcontext context = nullptr;  // the context with which it ends; null: it outlives contexts
  int device = 0;               // the device that holds it, or whose context pinned it
  unsigned flags = 0;           // of cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged
  CUmemoryPool pool = nullptr;  // stream-ordered memory only
  std::uint64_t buffer_id = 0;  // never reused in a process
  bool sync_memops = false;

  // Returns whether cuMemFree accepts it: memory of cuMemAlloc, cuMemAllocManaged and the pools.
  [[nodiscard]] bool is_freeable() const { return !on_host() && origin == Origin::allocated; }
  [[nodiscard]] bool is_plain() const {  // of cuMemAlloc
    return kind == Kind::device && origin == Origin::allocated;
  }
  [[nodiscard]] bool on_host() const { return kind == Kind::pinned || kind == Kind::registered; }
  [[nodiscard]] Address end() const { return start + bytes; }
};

// Is called for each allocation (1) and free (0). Calls no function of the driver.
using Watcher = void (*)(int came, int kind, int device, std::uint64_t address,
                         std::uint64_t bytes);

// Threads: any.
class MemoryTable {
 public:
  void watch(Watcher watcher);
  // Sets the buffer id. Returns false, and adds nothing, if the range touches a live one.
  bool add(Allocation allocation);
  [[nodiscard]] std::optional<Allocation> find(Address inside) const;
  // Returns the allocation that contains the whole range; for zero bytes, one that contains its
  // start.
  [[nodiscard]] std::optional<Allocation> find(Address start, std::uint64_t bytes) const;
  // Returns the first allocation that overlaps the range.
  [[nodiscard]] std::optional<Allocation> find_any(Address start, std::uint64_t bytes) const;
  // Removes and returns the allocation that starts here, if `accepts` returns true for it.
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
  // Calls visit(allocation) for each live one. It must not call this table.
  template <class F>
  void each(F visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [start, allocation] : live_) visit(allocation);
  }
  // Removes and returns everything that ends with this context, or lives in this pool.
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
