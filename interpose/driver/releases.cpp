// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/releases.h"

#include <bit>

#include "allocator/base/call_time.h"
#include "allocator/base/machine.h"

namespace vramscope {

namespace {

bool overlap(const Found& found, Kind kind, Address address, std::uint64_t bytes) {
  if (!has_ranges(space_of(kind))) return found.segment == address;
  return found.segment < address + bytes && address < found.segment + found.segment_bytes;
}

}  // namespace

Releases::Slot* Releases::claim_in(std::size_t word) noexcept {
  std::uint64_t busy = busy_[word].load(std::memory_order_relaxed);
  for (;;) {
    if (~busy == 0) return nullptr;
    const int first = std::countr_one(busy);
    if (busy_[word].compare_exchange_weak(busy, busy | std::uint64_t{1} << first,
                                          std::memory_order_acquire, std::memory_order_relaxed)) {
      return &slots_[word * kBits + static_cast<std::size_t>(first)];
    }
  }
}

// The first thread that frees owns a slot, which needs no atomic instruction. For the others the
// first word of bits nearly always suffices.
Releases::Slot* Releases::claim() noexcept {
  const std::uintptr_t self = this_control_block();
  std::uintptr_t owner = owner_.load(std::memory_order_relaxed);
  if (owner == 0 && owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed)) {
    owner = self;
  }
  const bool is_free = own_.address.load(std::memory_order_relaxed) == 0;
  if (owner == self && is_free) [[likely]]
    return &own_;
  if (Slot* const slot = claim_in(0)) return slot;
  beyond_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t word = 1; word < busy_.size(); ++word) {
    if (Slot* const slot = claim_in(word)) return slot;
  }
  beyond_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void Releases::begin(Slot& slot, const Release& release) noexcept {
  slot.kind.store(release.kind, std::memory_order_relaxed);
  slot.newest.store(release.newest, std::memory_order_relaxed);
  slot.start_ns.store(release.start_ns, std::memory_order_relaxed);
  slot.bytes.store(0, std::memory_order_relaxed);
  slot.address.store(release.address, std::memory_order_release);
}

void Releases::end(Slot& slot) noexcept {
  slot.address.store(0, std::memory_order_relaxed);
  if (&slot == &own_) [[likely]]
    return;
  const auto index = static_cast<std::size_t>(&slot - slots_.data());
  busy_[index / kBits].fetch_and(~(std::uint64_t{1} << index % kBits), std::memory_order_release);
  if (index >= kBits) beyond_.fetch_sub(1, std::memory_order_relaxed);
}

void Releases::end_overlapped(CachingAllocator& allocator, Kind kind, Address address,
                              std::uint64_t bytes) noexcept {
  end_overlapped_by(own_, allocator, kind, address, bytes);
  for (std::size_t word = 0; word < busy_.size(); ++word) {
    std::uint64_t rest = busy_[word].load(std::memory_order_acquire);
    for (; rest != 0; rest &= rest - 1) {
      const std::size_t index = word * kBits + static_cast<std::size_t>(std::countr_zero(rest));
      end_overlapped_by(slots_[index], allocator, kind, address, bytes);
    }
    if (word == 0 && beyond_.load(std::memory_order_relaxed) == 0) return;
  }
}

// The slot is filled before the record is removed, so that a thread which finds no record finds the
// slot. The exact order of the end is known only after the removal; a thread that looks in between
// may get an order that is some allocations too early.
void Releases::end_overlapped_by(Slot& slot, CachingAllocator& allocator, Kind kind,
                                 Address address, std::uint64_t bytes) noexcept {
  const Address start = slot.address.load(std::memory_order_acquire);
  if (start == 0 || space_of(slot.kind.load(std::memory_order_relaxed)) != space_of(kind)) return;
  const Found found = allocator.find_direct(kind, start);
  const bool is_meant = found.direct && found.segment == start &&
                        found.serial <= slot.newest.load(std::memory_order_relaxed);
  if (!is_meant || !overlap(found, kind, address, bytes)) return;
  slot.tag.store(found.block.tag, std::memory_order_relaxed);
  slot.where.store(found.where.packed(), std::memory_order_relaxed);
  slot.serial.store(allocator.newest(), std::memory_order_relaxed);
  slot.bytes.store(found.block.requested_size, std::memory_order_release);
  const std::uint64_t own_time = call_time_ns;
  call_time_ns = slot.start_ns.load(std::memory_order_relaxed);
  const Outcome gone = allocator.forget(found.where.kind, start, found.serial);
  if (gone.status.ok()) slot.serial.store(gone.serial, std::memory_order_relaxed);
  call_time_ns = own_time;
}

Outcome Releases::Underway::ended() const noexcept {
  Outcome outcome{.status = {Result::invalid, 0}};
  if (slot_ == nullptr) return outcome;
  outcome.requested = outcome.rounded = slot_->bytes.load(std::memory_order_acquire);
  if (outcome.requested == 0) return outcome;
  outcome.status = {};
  outcome.address = slot_->address.load(std::memory_order_relaxed);
  outcome.where = Place::unpack(slot_->where.load(std::memory_order_relaxed));
  outcome.tag = slot_->tag.load(std::memory_order_relaxed);
  outcome.serial = slot_->serial.load(std::memory_order_relaxed);
  return outcome;
}

// Functions that free plain memory also take mapped buffers of external memory.
Outcome Releases::Underway::forget(CachingAllocator& allocator, Kind kind,
                                   Address address) const noexcept {
  Outcome gone = allocator.forget(kind, address, newest_);
  if (gone.status.ok()) [[likely]]
    return gone;
  if (space_of(kind) == Space::memory) gone = allocator.forget(Kind::mapping, address, newest_);
  if (!gone.status.ok()) gone = ended();
  return gone;
}

}  // namespace vramscope
