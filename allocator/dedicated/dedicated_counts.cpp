// What blocks that are whole segments count as: in the statistics of their device, or of the host.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

bool is_pinned(const WholeBlock& block) { return block.where.kind == Kind::pinned; }

using Change = void (Stat::*)(std::int64_t amount);

void change(Stat& count, Stat& bytes, const WholeBlock& block, Change how) {
  (count.*how)(1);
  (bytes.*how)(static_cast<std::int64_t>(block.bytes));
}

}  // namespace

void CachingAllocator::State::count_whole_allocation(const WholeBlock& block) {
  ledger.count_allocation(block.where, block.tag, block.requested);
  if (is_pinned(block)) {
    change(host.allocated, host.allocated_bytes, block, &Stat::increase);
    change(host.active_requests, host.active_bytes, block, &Stat::increase);
    return;
  }
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_allocation(block.pool, block.bytes, block.requested, {});
  if (is_oversize(block.bytes, limits)) counters.rare().oversize_allocations.increase(1);
}

void CachingAllocator::State::count_whole_release(const WholeBlock& block) {
  ledger.count_call_of_free(block.where);
  if (is_pinned(block)) {
    change(host.allocated, host.allocated_bytes, block, &Stat::decrease);
    return;
  }
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_release(block.pool, block.bytes);
  if (is_oversize(block.bytes, limits)) counters.rare().oversize_allocations.decrease(1);
}

void CachingAllocator::State::count_whole_completion(const WholeBlock& block) {
  ledger.count_completion(block.where, block.tag, block.requested);
  if (is_pinned(block)) {
    change(host.active_requests, host.active_bytes, block, &Stat::decrease);
    return;
  }
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_completion(block.pool, block.bytes, block.requested, {});
}

void CachingAllocator::State::count_whole_free(const WholeBlock& block) {
  ledger.count_free(block.where, block.tag, block.requested);
  if (is_pinned(block)) {
    change(host.allocated, host.allocated_bytes, block, &Stat::decrease);
    change(host.active_requests, host.active_bytes, block, &Stat::decrease);
    return;
  }
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_free(block.pool, block.bytes, block.requested);
  if (is_oversize(block.bytes, limits)) counters.rare().oversize_allocations.decrease(1);
}

void CachingAllocator::State::count_whole_segment(const WholeBlock& block) {
  if (is_pinned(block)) {
    change(host.segment, host.reserved_bytes, block, &Stat::increase);
    ++host.num_host_alloc;
    return;
  }
  DeviceMemory& device = device_of(block.where);
  device.reserved += block.bytes;
  count_segment(device.counters, block.pool, block.bytes);
}

void CachingAllocator::State::count_whole_segment_end(const WholeBlock& block) {
  if (is_pinned(block)) {
    change(host.segment, host.reserved_bytes, block, &Stat::decrease);
    return;
  }
  DeviceMemory& device = device_of(block.where);
  device.reserved -= block.bytes;
  count_segment_end(device.counters, block.pool, block.bytes);
}

void CachingAllocator::State::count_whole_segment_kept(const WholeBlock& block) {
  if (is_pinned(block)) {
    change(host.segment, host.reserved_bytes, block, &Stat::take_back);
    return;
  }
  DeviceMemory& device = device_of(block.where);
  device.reserved += block.bytes;
  count_segment_kept(device.counters, block.pool, block.bytes);
}

void CachingAllocator::State::count_given_back(Place where) {
  if (where.kind == Kind::pinned) {
    ++host.num_host_free;
  } else {
    ++device_of(where).counters.rare().num_device_free;
  }
}

}  // namespace vramscope
