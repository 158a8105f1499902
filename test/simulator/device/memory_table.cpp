// The driver's map of live memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/memory_table.h"

#include <iterator>

namespace vramscope::simulator {

namespace {

template <class Chosen>
std::vector<Allocation> take_if(std::map<Address, Allocation>& live, Chosen chosen) {
  std::vector<Allocation> taken;
  for (auto entry = live.begin(); entry != live.end();) {
    if (!chosen(entry->second)) {
      ++entry;
      continue;
    }
    taken.push_back(entry->second);
    entry = live.erase(entry);
  }
  return taken;
}

}  // namespace

void MemoryTable::watch(Watcher watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = watcher;
}

void MemoryTable::tell(int came, const Allocation& allocation) const {
  if (watcher_ == nullptr || allocation.origin != Origin::allocated) return;
  watcher_(came, static_cast<int>(allocation.kind), allocation.device, allocation.start,
           allocation.bytes);
}

void MemoryTable::tell_gone(const std::vector<Allocation>& allocations) const {
  for (const Allocation& allocation : allocations) tell(0, allocation);
}

bool MemoryTable::add(Allocation allocation) {
  const std::lock_guard lock(mutex_);
  const auto next = live_.lower_bound(allocation.start);
  if (next != live_.end() && next->first < allocation.end()) return false;
  if (next != live_.begin() && std::prev(next)->second.end() > allocation.start) return false;
  allocation.buffer_id = ++last_buffer_id_;
  live_.emplace(allocation.start, allocation);
  tell(1, allocation);
  return true;
}

std::optional<Allocation> MemoryTable::find(Address inside) const {
  const std::lock_guard lock(mutex_);
  const auto after = live_.upper_bound(inside);
  if (after == live_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  if (inside >= candidate.end()) return std::nullopt;
  return candidate;
}

std::optional<Allocation> MemoryTable::find(Address start, std::uint64_t bytes) const {
  auto found = find(start);
  if (found && bytes > found->end() - start) return std::nullopt;
  return found;
}

std::optional<Allocation> MemoryTable::find_any(Address start, std::uint64_t bytes) const {
  if (auto found = find(start)) return found;
  const std::lock_guard lock(mutex_);
  const auto next = live_.lower_bound(start);
  if (next == live_.end() || next->first - start >= bytes) return std::nullopt;
  return next->second;
}

std::vector<Allocation> MemoryTable::take_all_of(CUcontext context) {
  const std::lock_guard lock(mutex_);
  auto taken = take_if(live_, [context](const Allocation& a) { return a.context == context; });
  tell_gone(taken);
  return taken;
}

std::vector<Allocation> MemoryTable::take_all_of(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  auto taken = take_if(live_, [pool](const Allocation& a) { return a.pool == pool; });
  tell_gone(taken);
  return taken;
}

void MemoryTable::set_sync_memops(Address start, bool on) {
  const std::lock_guard lock(mutex_);
  if (const auto found = live_.find(start); found != live_.end()) found->second.sync_memops = on;
}

}  // namespace vramscope::simulator
