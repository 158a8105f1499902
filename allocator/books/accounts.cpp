// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/accounts.h"

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"

namespace vramscope {
namespace {

void change(Stat& count, Stat& bytes, std::uint64_t amount, Stat::Change how) {
  (count.*how)(1);
  (bytes.*how)(static_cast<std::int64_t>(amount));
}

}  // namespace

bool Accounts::open_device(std::uint16_t device) noexcept {
  if (devices_[device]) return true;
  devices_[device] = make_live<DeviceCounters>(live_);
  if (!devices_[device]) return false;
  devices_[device]->rare().max_split_size = max_split_size_at_start_;
  return true;
}

void Accounts::came(const PlaceAccounts& at, const CountedBlock& block, SplitChange split,
                    std::uint64_t serial) {
  at.device.count_allocation(block.pool, block.bytes, block.requested, split);
  if (block.bytes >= oversize_from_) [[unlikely]]
    at.device.rare().oversize_allocations.increase(1);
  ledger_.count_allocation(at.ledger, block.tag, block.requested);
  if (fault(Fault::double_count)) ledger_.count_allocation(at.ledger, block.tag, block.requested);
  if (ledger_.is_followed()) [[unlikely]]
    detail_came(at.where, block.tag, block.requested, serial);
}

void Accounts::came(Place where, const CountedBlock& block, std::uint64_t serial) {
  ledger_.keep(block.tag);
  if (where.kind == Kind::device) return came(of_place(where), block, {}, serial);
  change(host_.allocated, host_.allocated_bytes, block.bytes, &Stat::increase);
  change(host_.active_requests, host_.active_bytes, block.bytes, &Stat::increase);
  ledger_.count_allocation(ledger_.account_of(where), block.tag, block.requested);
  if (ledger_.is_followed()) detail_came(where, block.tag, block.requested, serial);
}

void Accounts::given_up(Place where, const CountedBlock& block, std::uint64_t serial) {
  ledger_.keep(block.tag);
  end_life(where, block.tag, block.requested, serial);
  ledger_.count_call_of_free(ledger_.account_of(where));
  if (where.kind != Kind::device)
    return change(host_.allocated, host_.allocated_bytes, block.bytes, &Stat::decrease);
  DeviceCounters& counters = *devices_[where.device];
  counters.count_release(block.pool, block.bytes);
  if (block.bytes >= oversize_from_) counters.rare().oversize_allocations.decrease(1);
}

void Accounts::reusable(Place where, const CountedBlock& block) {
  ledger_.keep(block.tag);
  ledger_.count_completion(where, block.tag, block.requested);
  watches_.went(where, block.requested);
  if (where.kind != Kind::device)
    return change(host_.active_requests, host_.active_bytes, block.bytes, &Stat::decrease);
  devices_[where.device]->count_completion(block.pool, block.bytes, block.requested);
}

void Accounts::freed(const PlaceAccounts& at, const CountedBlock& block) {
  at.device.count_free(block.pool, block.bytes, block.requested);
  if (block.bytes >= oversize_from_) [[unlikely]]
    at.device.rare().oversize_allocations.decrease(1);
  ledger_.count_free(at.ledger, block.tag, block.requested);
}

void Accounts::freed(Place where, const CountedBlock& block, std::uint64_t serial) {
  ledger_.keep(block.tag);
  if (where.kind == Kind::device) {
    const PlaceAccounts at = of_place(where);
    freed(at, block);
    merged(at, block.pool, {});
    return ended(at, block.tag, block.requested, serial);
  }
  given_up(where, block, serial);
  reusable(where, block);
}

void Accounts::detail_came(Place where, Tag tag, std::uint64_t requested, std::uint64_t serial) {
  watches_.came(where, tag, requested);
  if (!ledger_.keeps_details()) return;
  birth_times_.note(serial, call_time_ns);
  ledger_.detail_allocation(ledger_.account_of(where), tag, requested);
}

void Accounts::detail_freed(const PlaceAccounts& at, Tag tag, std::uint64_t requested,
                            std::uint64_t serial) {
  end_life(at.where, tag, requested, serial);
  watches_.went(at.where, requested);
  if (ledger_.keeps_details()) ledger_.detail_completion(at.ledger, tag, requested);
}

void Accounts::end_life(Place where, Tag tag, std::uint64_t requested, std::uint64_t serial) {
  watches_.given_up(where, requested, serial);
  if (serial != kNoLife && ledger_.keeps_details())
    ledger_.count_lifetime(tag, birth_times_.time_of(serial));
}

void Accounts::segment_came(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) {
    ++host_.num_host_alloc;
    capacities_.host_came(where.kind, bytes);
    return change(host_.segment, host_.reserved_bytes, bytes, &Stat::increase);
  }
  capacities_.came(where, bytes);
  change_segments(*devices_[where.device], pool, bytes, &Stat::increase);
}

void Accounts::segment_went(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) {
    capacities_.host_went(where.kind, bytes);
    return change(host_.segment, host_.reserved_bytes, bytes, &Stat::decrease);
  }
  capacities_.went(where, bytes);
  change_segments(*devices_[where.device], pool, bytes, &Stat::decrease);
}

void Accounts::segment_kept(Place where, PoolClass pool, std::uint64_t bytes) {
  if (where.kind != Kind::device) {
    capacities_.host_came(where.kind, bytes);
    return change(host_.segment, host_.reserved_bytes, bytes, &Stat::take_back);
  }
  capacities_.came(where, bytes);
  change_segments(*devices_[where.device], pool, bytes, &Stat::take_back);
}

void Accounts::segment_given_back(Place where) {
  if (where.kind == Kind::device) {
    ++devices_[where.device]->rare().num_device_free;
    return;
  }
  ++host_.num_host_free;
}

void Accounts::change_pages(Place where, PoolClass pool, std::uint64_t bytes, Stat::Change how) {
  DeviceCounters& counters = *devices_[where.device];
  const bool came = how == &Stat::increase;
  came ? capacities_.came(where, bytes) : capacities_.went(where, bytes);
  counters.change_reserved(pool, bytes, how);
  if (came) ++counters.rare().num_device_alloc;
}

void Accounts::note(Event what, std::uint16_t device) {
  DeviceStatistics& rare = devices_[device]->rare();
  switch (what) {
    case Event::out_of_memory:
      ++rare.num_ooms;
      break;
    case Event::retry:
      ++rare.num_alloc_retries;
      break;
    case Event::rejection:
      ++rare.num_oom_rejections;
      break;
    case Event::sync_of_all:
      ++rare.num_sync_all_streams;
  }
}

void Accounts::change_segments(DeviceCounters& device, PoolClass pool, std::uint64_t bytes,
                               Stat::Change how) const {
  DeviceStatistics& rare = device.rare();
  device.change_segments(pool, bytes, how);
  if (bytes >= oversize_from_) (rare.oversize_segments.*how)(1);
  if (how == &Stat::increase) ++rare.num_device_alloc;
}

// A direct segment counts as a segment, but not against the limit on our own.
void Accounts::direct_came(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial) {
  const CountedBlock block{tag, pool_class(bytes), bytes, bytes};
  capacities_.direct_came(where, bytes);
  if (where.kind == Kind::device) {
    change_segments(*devices_[where.device], block.pool, bytes, &Stat::increase);
  } else if (is_host(where.kind)) {
    host_used_ = true;
    segment_came(where, block.pool, bytes);
  } else {
    ledger_.keep(tag);
    ledger_.count_allocation(ledger_.account_of(where), tag, bytes);
    if (ledger_.is_followed()) detail_came(where, block.tag, block.requested, serial);
    return;
  }
  came(where, block, serial);
}

void Accounts::direct_went(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial) {
  const CountedBlock block{tag, pool_class(bytes), bytes, bytes};
  capacities_.direct_went(where, bytes);
  if (where.kind == Kind::device) {
    change_segments(*devices_[where.device], block.pool, bytes, &Stat::decrease);
  } else if (is_host(where.kind)) {
    segment_went(where, block.pool, bytes);
  } else {
    ledger_.keep(tag);
    ledger_.count_free(where, tag, bytes);
    end_life(where, tag, bytes, serial);
    return watches_.went(where, bytes);
  }
  freed(where, block, serial);
  if (serial != kNoLife) segment_given_back(where);
}

void Accounts::reset_peaks(std::optional<std::uint16_t> device) {
  if (device) {
    if (devices_[*device]) devices_[*device]->reset_peaks();
    return ledger_.reset_peak(Kind::device, *device);
  }
  for (auto& each : devices_) {
    if (each) each->reset_peaks();
  }
  host_.reset_peaks();
  ledger_.reset_peaks();
}

void Accounts::reset_accumulated(std::optional<std::uint16_t> device) {
  was_reset_ = true;
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    if (devices_[i] && i == device.value_or(i)) devices_[i]->reset_accumulated();
  }
  if (!device) host_.reset_accumulated();
}

bool Accounts::read(std::uint16_t device, DeviceStatistics& out) const {
  if (!devices_[device]) return false;
  out = devices_[device]->read();
  return true;
}

bool Accounts::read(HostStatistics& out) const {
  if (host_used_) out = host_;
  return host_used_;
}

void Accounts::describe(Snapshot& out) const {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]) continue;
    out.devices.push_back({static_cast<std::uint16_t>(i), devices_[i]->read()});
  }
  out.host = host_;
  out.host_used = host_used_;
}

void Accounts::mend(Snapshot& out, const BooksRecount& recount) const {
  for (DeviceSnapshot& device : out.devices) {
    fit(device.statistics, recount.devices[device.device], was_reset_);
  }
  fit(out.host, recount.host, was_reset_);
  ledger_.mend(out, recount.ledger);
}

}  // namespace vramscope
