// Accounting of the pretend GPU: every rule of golden/README.md, or a driver's habits.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/simulated_device.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <utility>

namespace vramscope::simulator {

namespace {
constexpr Status kNoRoom{Result::out_of_memory, kOutOfMemory};
constexpr Status kInvalid{Result::invalid, kInvalidValue};
}  // namespace

SimulatedDevice::SimulatedDevice(DeviceModel model)
    : model_(model),
      granules_(model.device_base, model.capacity, model.footprint),
      next_device_(model.device_base) {}

Grant SimulatedDevice::allocate(Memory kind, std::size_t bytes, Granules::Owner owner) noexcept {
  const std::lock_guard lock(mutex_);
  const Status before = health();
  ++counters_.calls;
  const bool fault = fault_is_due();
  if (!before.ok()) return refuse(before);
  if (bytes == 0) return refuse(kInvalid);
  if (fault) return refuse(kNoRoom);
  try {
    return allocate_locked(kind, bytes, owner);
  } catch (const std::bad_alloc&) {  // the process has no room, as a driver would say
    return refuse(kNoRoom);
  }
}

// Has its entry before it takes anything of the device.
Grant SimulatedDevice::allocate_locked(Memory kind, std::size_t bytes, Granules::Owner owner) {
  std::map<Address, Live> own;
  auto entry = own.extract(own.try_emplace(0, Live{bytes, kind}).first);
  const auto address = place_beside_neighbours(kind, bytes, owner);
  if (!address) return refuse(kNoRoom);
  entry.key() = *address;
  live_.insert(std::move(entry));
  counters_.live_bytes += bytes;
  ++counters_.live_count;
  return {.status = {}, .address = *address};
}

void SimulatedDevice::end_owner(Granules::Owner owner) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = used();
  granules_.end(owner);
  if (model_.neighbours != nullptr && used() != before) model_.neighbours->tell(used());
}

Status SimulatedDevice::create(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const Status before = health();
  ++counters_.calls;
  const bool fault = fault_is_due();
  if (!before.ok()) return refuse(before).status;
  if (fault || bytes > model_.capacity - used()) return refuse(kNoRoom).status;
  counters_.live_bytes += bytes;
  ++counters_.live_count;
  return {};
}

void SimulatedDevice::destroy(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  counters_.live_bytes -= bytes;
  ++counters_.frees;
  --counters_.live_count;
}

Address SimulatedDevice::reserve_addresses(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const Address start = next_reserved_;
  next_reserved_ += round_up(bytes, kGranule);
  return start;
}

Status SimulatedDevice::count_call() noexcept {
  const std::lock_guard lock(mutex_);
  const Status before = health();
  ++counters_.calls;
  const bool fault = fault_is_due();
  if (!before.ok()) return refuse(before).status;
  return fault ? refuse(kNoRoom).status : Status{};
}

Status SimulatedDevice::release(Address address, std::uint64_t left_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Status now = health(); !now.ok()) return now;
  if (fail_release_in_ != 0 && --fail_release_in_ == 0) return failed_release_;
  const auto found = live_.find(address);
  if (found == live_.end()) return kInvalid;
  const auto [bytes, kind] = found->second;
  live_.erase(found);
  counters_.live_bytes -= bytes;
  kept_ += left_bytes;
  take_back(kind, address, bytes);
  ++counters_.frees;
  --counters_.live_count;
  return {};
}

bool SimulatedDevice::keep(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t others = model_.neighbours == nullptr ? 0 : model_.neighbours->used_bytes();
  if (others > model_.capacity ||
      used() + others > model_.capacity - std::min(bytes, model_.capacity))
    return false;
  kept_ += bytes;
  if (model_.neighbours != nullptr && bytes != 0) model_.neighbours->tell(used());
  return true;
}

void SimulatedDevice::keep_less(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  kept_ -= bytes;
  if (model_.neighbours != nullptr && bytes != 0) model_.neighbours->tell(used());
}

void SimulatedDevice::fail_call(std::uint64_t k) noexcept {
  const std::lock_guard lock(mutex_);
  fail_in_ = k;
}

void SimulatedDevice::fail_release(std::uint64_t k, Status status) noexcept {
  const std::lock_guard lock(mutex_);
  fail_release_in_ = k;
  failed_release_ = status;
}

void SimulatedDevice::set_sticky(std::int32_t code) noexcept { set_sticky_after(0, code); }

void SimulatedDevice::set_sticky_after(std::uint64_t calls, std::int32_t code) noexcept {
  const std::lock_guard lock(mutex_);
  sticky_in_ = calls;
  waiting_sticky_ = code;
  sticky_ = calls == 0 ? code : 0;
}

Status SimulatedDevice::health() const noexcept {
  const std::int32_t code = sticky_.load(std::memory_order_acquire);
  return code == 0 ? Status{} : Status{Result::failed, code};
}

Counters SimulatedDevice::counters() const noexcept {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::uint64_t SimulatedDevice::free_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t others = model_.neighbours == nullptr ? 0 : model_.neighbours->used_bytes();
  return model_.capacity - std::min(model_.capacity, used() + others);
}

std::optional<Extent> SimulatedDevice::find(Address address) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return std::nullopt;
  const auto& [start, live] = *std::prev(after);
  if (address - start >= live.bytes) return std::nullopt;
  return Extent{start, live.bytes};
}

Grant SimulatedDevice::refuse(Status status) noexcept {
  ++counters_.failed;
  return {.status = status};
}

// Counts this call for both faults; the sticky one takes effect after the call.
bool SimulatedDevice::fault_is_due() noexcept {
  if (sticky_in_ != 0 && --sticky_in_ == 0) sticky_ = waiting_sticky_;
  return fail_in_ != 0 && --fail_in_ == 0;
}

std::uint64_t SimulatedDevice::used() const noexcept {
  return kept_ + (model_.reuse_addresses ? granules_.used_bytes() : counters_.live_bytes);
}

std::optional<Address> SimulatedDevice::place(Memory kind, std::size_t bytes,
                                              Granules::Owner owner) {
  if (model_.reuse_addresses && kind == Memory::device) return granules_.take(bytes, owner);
  if (bytes > model_.capacity - used()) return std::nullopt;
  Address& next = kind == Memory::device ? next_device_ : next_pinned_;
  const Address start = next;
  next += round_up(bytes, kGranule);
  return start;
}

// Says first what it takes and then looks: of two processes that want the last bytes at the same
// time both may be refused, but never both served.
std::optional<Address> SimulatedDevice::place_beside_neighbours(Memory kind, std::size_t bytes,
                                                                Granules::Owner owner) {
  const std::uint64_t before = used();
  const auto address = place(kind, bytes, owner);
  if (!address || used() == before) return address;
  if (model_.neighbours != nullptr) model_.neighbours->tell(used());
  const std::uint64_t others = model_.neighbours == nullptr ? 0 : model_.neighbours->used_bytes();
  if (others + used() <= model_.capacity) return address;
  take_back(kind, *address, bytes);
  return std::nullopt;
}

void SimulatedDevice::take_back(Memory kind, Address address, std::size_t bytes) {
  if (!model_.reuse_addresses || kind != Memory::device) return;  // addresses are not used again
  granules_.give(address, bytes);
  if (model_.neighbours != nullptr) model_.neighbours->tell(used());
}

}  // namespace vramscope::simulator
