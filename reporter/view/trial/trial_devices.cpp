// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/trial_devices.h"

#include <algorithm>
#include <new>

namespace vramscope {
namespace {

using simulator::Granules;
using What = SegmentChange::What;

constexpr std::int32_t kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
constexpr Status kNoRoom{Result::out_of_memory, kOutOfMemory};

// Ranges of addresses that no recording has, below the most that the allocator takes (2^49): of
// pinned memory, of the devices' granules, and of reservations. The driver's own memory is known by
// numbers above all of them.
constexpr Address kPinnedBase = Address{1} << 44;
constexpr Address kDeviceBase = Address{3} << 46;
constexpr Address kReservedBase = Address{3} << 47;
constexpr Address kReservedEnd = Address{1} << 49;
constexpr Address kDirectBase = Address{1} << 50;

Address take_addresses(Address& next, std::uint64_t bytes) {
  const Address found = next;
  next += simulator::round_up(std::max<std::uint64_t>(bytes, 1), simulator::kGranule);
  return found;
}

bool is_in_granules(Kind kind) { return kind == Kind::device || kind == Kind::array; }

// A real driver puts new slabs below the others; the simulated one fills from below, unless it
// imitates a model.
simulator::Placement placement_of(const std::vector<SegmentChange>& recorded) {
  std::size_t rises = 0;
  std::size_t falls = 0;
  const SegmentChange* last = nullptr;
  for (const SegmentChange& change : recorded) {
    if (change.what != What::came || change.place.kind == Kind::pinned) continue;
    if (last != nullptr) ++(change.address > last->address ? rises : falls);
    last = &change;
  }
  return rises > falls ? simulator::Placement::first_fit : simulator::Placement::slabs;
}

}  // namespace

TrialDevices::TrialDevices(const Model& model, const std::vector<SegmentChange>& recorded)
    : recorded_(recorded),
      host_bytes_(model.host_bytes),
      costs_(model.costs),
      placement_(placement_of(recorded)),
      next_device_(kDeviceBase),
      next_pinned_(kPinnedBase),
      next_reserved_(kReservedBase),
      next_direct_(kDirectBase) {
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    devices_[i].capacity = std::min(model.capacity[i], kMostCapacity);
  }
}

TrialDevices::~TrialDevices() = default;

std::uint64_t TrialDevices::used(const Device& device) {
  const std::uint64_t in_granules = device.granules ? device.granules->used_bytes() : 0;
  return in_granules + device.mapped + device.plain + device.rounding.bytes() + device.others;
}

std::optional<Address> TrialDevices::take_granules(Device& device, Place where,
                                                   std::uint64_t bytes) {
  if (!device.granules) {
    device.granules = std::make_unique<Granules>(next_device_, device.capacity,
                                                 simulator::Footprint{.placement = placement_});
    next_device_ += simulator::addresses_for(device.capacity);
  }
  const Granules::Owner owner = where.context + std::uint64_t{1};
  const std::optional<Address> found = device.granules->take(bytes, owner);
  if (!found) return std::nullopt;
  if (used(device) > device.capacity) {
    device.granules->give(*found, bytes);
    return std::nullopt;
  }
  device.in_granules += bytes;
  device.granule_rounding.add(where.kind, bytes);
  return found;
}

void TrialDevices::give_granules(Device& device, Place where, Address granule,
                                 std::uint64_t bytes) {
  device.granules->give(granule, bytes);
  device.in_granules -= bytes;
  device.granule_rounding.remove(where.kind, bytes);
}

std::uint64_t TrialDevices::waste(std::uint16_t device) const {
  const Device& one = devices_[device];
  if (!one.granules) return 0;
  const std::uint64_t packed = one.in_granules + one.granule_rounding.bytes();
  return one.granules->used_bytes() - std::min(one.granules->used_bytes(), packed);
}

void TrialDevices::gave(std::uint16_t device, std::uint64_t bytes) {
  Device& one = devices_[device];
  one.use.given += bytes;
  one.use.most_used = std::max(one.use.most_used, used(one));
  if (one.use.given <= one.use.most_given) return;
  one.use.most_given = one.use.given;
  new_peak = device;
}

// The recording's next change of a segment, if it is what the allocator asks for now.
const SegmentChange* TrialDevices::next_recorded(What what, Place where) {
  if (!is_as_recorded_) return nullptr;
  is_as_recorded_ =
      next_ < recorded_.size() && recorded_[next_].what == what && recorded_[next_].place == where;
  return is_as_recorded_ ? &recorded_[next_++] : nullptr;
}

Grant TrialDevices::reserve(Place where, std::size_t bytes) noexcept {
  try {
    Segment segment{.where = where, .bytes = bytes};
    Address address = 0;
    if (where.kind != Kind::pinned) {
      const auto granule = take_granules(devices_[where.device], where, bytes);
      called(costs_.allocate(bytes));
      if (!granule) return {.status = kNoRoom};
      address = segment.granule = *granule;
      gave(where.device, bytes);
    } else {
      called(CallCosts::pin(bytes));
      address = take_addresses(next_pinned_, bytes);
    }
    const SegmentChange* same = next_recorded(What::came, where);
    if (same != nullptr && same->bytes != bytes) is_as_recorded_ = false;
    if (is_as_recorded_) address = same->address;
    (where.kind == Kind::pinned ? pinned_ : segments_)[address] = segment;
    return {.status = {}, .address = address};
  } catch (const std::bad_alloc&) {
    return {.status = {Result::failed, 0}};
  }
}

void TrialDevices::let_go(const Segment& segment) {
  Device& device = devices_[segment.where.device];
  give_granules(device, segment.where, segment.granule, segment.bytes);
  device.use.given -= segment.bytes;
}

Reply TrialDevices::release(Place where, Address address) noexcept {
  if (captures != 0) return {{Result::forbidden, 0}};
  auto& segments = where.kind == Kind::pinned ? pinned_ : segments_;
  const auto found = segments.find(address);
  if (found == segments.end()) return {{Result::invalid, 0}};
  const Segment segment = found->second;
  segments.erase(found);
  if (where.kind == Kind::pinned) {
    called(CallCosts::unpin(segment.bytes));
  } else {
    called(costs_.free(segment.bytes));
    let_go(segment);
  }
  const SegmentChange* same = next_recorded(What::went, where);
  if (same != nullptr && same->address != address) is_as_recorded_ = false;
  return {};
}

// A reservation begins where its first pages are mapped.
Grant TrialDevices::reserve_addresses(Place where, std::uint64_t bytes, std::uint64_t) noexcept {
  const bool has_next = is_as_recorded_ && next_ < recorded_.size() &&
                        recorded_[next_].what == What::pages_came &&
                        recorded_[next_].place == where;
  if (has_next) return {.status = {}, .address = recorded_[next_].address};
  if (bytes > kReservedEnd - next_reserved_) return {.status = {Result::failed, 0}};
  return {.status = {}, .address = take_addresses(next_reserved_, bytes)};
}

Grant TrialDevices::map(Place where, Address address, std::uint64_t bytes,
                        std::uint64_t page) noexcept {
  Device& device = devices_[where.device];
  called(costs_.map(bytes / page));
  if (bytes > device.capacity - std::min(device.capacity, used(device))) {
    return {.status = kNoRoom};
  }
  device.mapped += bytes;
  gave(where.device, bytes);
  const SegmentChange* same = next_recorded(What::pages_came, where);
  if (same != nullptr && (same->address != address || same->bytes != bytes)) {
    is_as_recorded_ = false;
  }
  return {.status = {}, .address = address};
}

Reply TrialDevices::unmap(Place where, Address address, std::uint64_t bytes,
                          std::uint64_t page) noexcept {
  Device& device = devices_[where.device];
  called(costs_.unmap(bytes / page));
  device.mapped -= bytes;
  device.use.given -= bytes;
  const SegmentChange* same = next_recorded(What::pages_went, where);
  if (same != nullptr && (same->address != address || same->bytes != bytes)) {
    is_as_recorded_ = false;
  }
  return {};
}

std::uint64_t TrialDevices::total_bytes(Place where) noexcept {
  return where.kind == Kind::pinned ? host_bytes_ : devices_[where.device].capacity;
}

std::optional<Address> TrialDevices::take(Place where, std::uint64_t bytes) {
  const Address address = take_addresses(next_direct_, bytes);
  if (where.kind == Kind::pinned) called(CallCosts::pin(bytes));
  if (!takes_room(where.kind)) return address;
  Device& device = devices_[where.device];
  if (is_in_granules(where.kind)) {
    called(costs_.allocate(bytes));
    const auto granule = take_granules(device, where, bytes);
    if (!granule) return std::nullopt;
    direct_[address] = *granule;
  } else {
    device.plain += bytes;
    device.rounding.add(where.kind, bytes);
    if (used(device) > device.capacity) {
      device.plain -= bytes;
      device.rounding.remove(where.kind, bytes);
      return std::nullopt;
    }
  }
  gave(where.device, bytes);
  return address;
}

void TrialDevices::give(Place where, Address address, std::uint64_t bytes) {
  if (where.kind == Kind::pinned) called(CallCosts::unpin(bytes));
  if (!takes_room(where.kind)) return;
  Device& device = devices_[where.device];
  if (is_in_granules(where.kind)) {
    called(costs_.free(bytes));
    const auto found = direct_.find(address);
    if (found == direct_.end()) return;
    give_granules(device, where, found->second, bytes);
    direct_.erase(found);
  } else {
    device.plain -= bytes;
    device.rounding.remove(where.kind, bytes);
  }
  device.use.given -= bytes;
}

bool TrialDevices::set_others(std::uint16_t device, std::uint64_t bytes) {
  Device& one = devices_[device];
  one.others = bytes;
  one.use.most_used = std::max(one.use.most_used, used(one));
  return used(one) <= one.capacity;
}

void TrialDevices::restart_peaks() {
  for (Device& device : devices_) {
    device.use.most_given = device.use.given;
    device.use.most_used = used(device);
  }
}

void TrialDevices::end_place(Place where) {
  std::erase_if(segments_, [&](const auto& entry) {
    if (!(entry.second.where == where)) return false;
    let_go(entry.second);
    return true;
  });
  std::erase_if(pinned_, [&](const auto& entry) { return entry.second.where == where; });
}

}  // namespace vramscope
