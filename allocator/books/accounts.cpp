// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/accounts.h"

#include <new>

#include "allocator/ground/call_time.h"
#include "allocator/ground/fault.h"

namespace vramscope {
namespace {

std::int64_t to_stat(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

bool Accounts::open_device(std::uint16_t device) noexcept {
  if (devices_[device]) return true;
  devices_[device].reset(new (std::nothrow) DeviceAccount);
  if (!devices_[device]) return false;
  devices_[device]->counters.rare().max_split_size = max_split_size_at_start_;
  return true;
}

void Accounts::came(const PlaceAccounts& at, const CountedBlock& block, SplitChange split,
                    std::uint64_t serial) {
  at.device.counters.count_allocation(block.pool, block.bytes, block.requested, split);
  if (is_oversize(block.bytes)) [[unlikely]]
    at.device.counters.rare().oversize_allocations.increase(1);
  ledger_.count_allocation(at.ledger, block.tag, block.requested);
  if (fault(Fault::double_count)) ledger_.count_allocation(at.ledger, block.tag, block.requested);
  if (ledger_.keeps_details()) [[unlikely]]
    detail_came(at.ledger, block.tag, block.requested, serial);
}

void Accounts::came(Place where, const CountedBlock& block, std::uint64_t serial) {
  if (where.kind == Kind::device) return came(of_place(where), block, {}, serial);
  change_host_allocated(block.bytes, &Stat::increase);
  change_host_active(block.bytes, &Stat::increase);
  ledger_.count_allocation(ledger_.account_of(where), block.tag, block.requested);
  if (ledger_.keeps_details())
    detail_came(ledger_.account_of(where), block.tag, block.requested, serial);
}

void Accounts::given_up(Place where, const CountedBlock& block, std::uint64_t serial) {
  end_life(block.tag, serial);
  ledger_.count_call_of_free(where);
  if (where.kind != Kind::device) return change_host_allocated(block.bytes, &Stat::decrease);
  DeviceCounters& counters = devices_[where.device]->counters;
  counters.count_release(block.pool, block.bytes);
  if (is_oversize(block.bytes)) counters.rare().oversize_allocations.decrease(1);
}

void Accounts::reusable(Place where, const CountedBlock& block, SplitChange split) {
  ledger_.count_completion(where, block.tag, block.requested);
  if (where.kind != Kind::device) return change_host_active(block.bytes, &Stat::decrease);
  devices_[where.device]->counters.count_completion(block.pool, block.bytes, block.requested,
                                                    split);
}

void Accounts::freed(const PlaceAccounts& at, const CountedBlock& block) {
  at.device.counters.count_free(block.pool, block.bytes, block.requested);
  if (is_oversize(block.bytes)) [[unlikely]]
    at.device.counters.rare().oversize_allocations.decrease(1);
  ledger_.count_free(at.ledger, block.tag, block.requested);
}

void Accounts::freed(Place where, const CountedBlock& block, std::uint64_t serial) {
  if (where.kind == Kind::device) {
    const PlaceAccounts at = of_place(where);
    freed(at, block);
    return ended(at, block.tag, block.requested, serial);
  }
  given_up(where, block, serial);
  reusable(where, block);
}

void Accounts::detail_came(Ledger::Account& account, Tag tag, std::uint64_t requested,
                           std::uint64_t serial) {
  birth_times_.note(serial, call_time_ns);
  ledger_.detail_allocation(account, tag, requested);
}

void Accounts::detail_freed(Ledger::Account& account, Tag tag, std::uint64_t requested,
                            std::uint64_t serial) {
  end_life(tag, serial);
  ledger_.detail_completion(account, tag, requested);
}

void Accounts::end_life(Tag tag, std::uint64_t serial) {
  if (serial != kNoLife && ledger_.keeps_details()) ledger_.count_lifetime(tag, born_ns(serial));
}

void Accounts::segment_came(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) {
    ++host_.num_host_alloc;
    return change_host_segment(bytes, &Stat::increase);
  }
  devices_[where.device]->reserved += bytes;
  change_segments(*devices_[where.device], pool, bytes, &Stat::increase);
}

void Accounts::segment_went(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) return change_host_segment(bytes, &Stat::decrease);
  devices_[where.device]->reserved -= bytes;
  change_segments(*devices_[where.device], pool, bytes, &Stat::decrease);
}

void Accounts::segment_kept(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) return change_host_segment(bytes, &Stat::take_back);
  devices_[where.device]->reserved += bytes;
  change_segments(*devices_[where.device], pool, bytes, &Stat::take_back);
}

void Accounts::segment_given_back(Place where) {
  if (where.kind == Kind::device) return count(where.device, &DeviceStatistics::num_device_free);
  ++host_.num_host_free;
}

void Accounts::change_segments(DeviceAccount& device, PoolClass pool, std::uint64_t bytes,
                               Stat::Change how) {
  DeviceStatistics& rare = device.counters.rare();
  device.counters.change_segments(pool, bytes, how);
  if (is_oversize(bytes)) (rare.oversize_segments.*how)(1);
  if (how == &Stat::increase) ++rare.num_device_alloc;
}

void Accounts::change_host_segment(std::uint64_t bytes, Stat::Change how) {
  (host_.segment.*how)(1);
  (host_.reserved_bytes.*how)(to_stat(bytes));
}

void Accounts::change_host_allocated(std::uint64_t bytes, Stat::Change how) {
  (host_.allocated.*how)(1);
  (host_.allocated_bytes.*how)(to_stat(bytes));
}

void Accounts::change_host_active(std::uint64_t bytes, Stat::Change how) {
  (host_.active_requests.*how)(1);
  (host_.active_bytes.*how)(to_stat(bytes));
}

// A direct segment counts as one, but not against the limit on segments of ours.
void Accounts::direct_came(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial) {
  const CountedBlock block{tag, pool_class(bytes), bytes, bytes};
  if (takes_device_memory(where.kind)) capacities_[where.device].direct += bytes;
  if (where.kind == Kind::device) {
    change_segments(*devices_[where.device], block.pool, bytes, &Stat::increase);
  } else if (is_host(where.kind)) {
    host_used_ = true;
    segment_came(where, block.pool, bytes);
  } else {
    ledger_.count_allocation(ledger_.account_of(where), tag, bytes);
    if (ledger_.keeps_details())
      detail_came(ledger_.account_of(where), block.tag, block.requested, serial);
    return;
  }
  came(where, block, serial);
}

void Accounts::direct_went(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial) {
  const CountedBlock block{tag, pool_class(bytes), bytes, bytes};
  if (takes_device_memory(where.kind)) capacities_[where.device].direct -= bytes;
  if (where.kind == Kind::device) {
    change_segments(*devices_[where.device], block.pool, bytes, &Stat::decrease);
  } else if (is_host(where.kind)) {
    segment_went(where, block.pool, bytes);
  } else {
    ledger_.count_free(where, tag, bytes);
    return end_life(tag, serial);
  }
  freed(where, block, serial);
  if (serial != kNoLife) segment_given_back(where);
}

std::uint64_t Accounts::held_bytes(std::uint16_t device) const {
  const Capacity& capacity = capacities_[device];
  const DeviceAccount* ours = devices_[device].get();
  return capacity.direct + capacity.promised + (ours ? ours->reserved + ours->awaited : 0);
}

bool Accounts::has_capacity(std::uint16_t device, std::uint64_t bytes) const {
  const std::uint64_t limit = capacities_[device].limit;
  if (limit == Limits::kUnlimited) return true;
  const std::uint64_t held = held_bytes(device);
  return held <= limit && bytes <= limit - held;
}

DeviceCapacity Accounts::capacity(std::uint16_t device) const {
  const Capacity& capacity = capacities_[device];
  return {.limit = capacity.limit, .held = held_bytes(device), .refusals = capacity.refusals};
}

void Accounts::reset_peaks() {
  for (auto& device : devices_) {
    if (device) device->counters.reset_peaks();
  }
  host_.reset_peaks();
  ledger_.reset_peaks();
}

void Accounts::reset_peaks(std::uint16_t device) {
  if (devices_[device]) devices_[device]->counters.reset_peaks();
  ledger_.reset_peak(Kind::device, device);
}

void Accounts::reset_accumulated() {
  for (auto& device : devices_) {
    if (device) device->counters.reset_accumulated();
  }
  host_.reset_accumulated();
}

void Accounts::reset_accumulated(std::uint16_t device) {
  if (devices_[device]) devices_[device]->counters.reset_accumulated();
}

bool Accounts::read(std::uint16_t device, DeviceStatistics& out) const {
  if (!devices_[device]) return false;
  out = devices_[device]->counters.read();
  return true;
}

bool Accounts::read(HostStatistics& out) const {
  if (host_used_) out = host_;
  return host_used_;
}

void Accounts::describe(Snapshot& out) const {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]) continue;
    out.devices.push_back({static_cast<std::uint16_t>(i), devices_[i]->counters.read()});
  }
  out.host = host_;
  out.host_used = host_used_;
  ledger_.describe(out);
}

}  // namespace vramscope
