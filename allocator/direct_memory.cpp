// Adopts, counts and forgets memory that the program got from the driver. It does not influence the
// fast path of our own blocks, so no section here needs settle().
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/size_policy.h"
#include "allocator/idle.h"
#include "allocator/reading.h"
#include "allocator/state.h"

namespace vramscope {
Outcome CachingAllocator::adopt(Place where, Address address, std::size_t bytes, Tag tag,
                                Promise promise) noexcept {
  Outcome out{.status = {Result::invalid, 0},
              .address = address,
              .rounded = bytes,
              .requested = bytes,
              .where = where,
              .tag = tag};
  const bool representable = bytes < kRefused && address <= ~Address{0} - bytes;
  const State::QuietLock section(*state_);
  state_->accounts.capacities().end_promise({.kind = promise.kind, .device = promise.device},
                                            promise.bytes);
  if (bytes == 0 || address == 0 || !representable || where.device >= kMaxDevices) return out;
  state_->adopt(where, address, bytes, out);
  return out;
}

void CachingAllocator::State::adopt(Place where, Address address, std::size_t bytes, Outcome& out) {
  const Space space = space_of(where.kind);
  while (const DirectBlocks::Entry* old = directs.find_overlapping(space, address, bytes)) {
    forget_direct(old->second.where.kind, old->first, Ended::freed);
  }
  out.status = {Result::failed, 0};
  if (!accounts.tags().prepare(out.tag) || !listed.prepare()) return;
  if (where.kind == Kind::device && !accounts.open_device(where.device)) return;
  out.serial = next_serial();
  DirectBlock* const block = directs.add(address, {bytes, out.serial, where, out.tag});
  if (block == nullptr) return;
  accounts.direct_came(where, out.tag, bytes, out.serial);
  block->listed = listed.add(address, *block);
  Idle::set_caps(*this, where.device);
  out.status = {};
  out.source = Source::direct;
}

Outcome CachingAllocator::forget(Address address) noexcept { return forget(Kind::device, address); }

Outcome CachingAllocator::forget(Kind kind, Address address, std::uint64_t newest) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  const State::QuietLock section(*state_);
  const DirectBlocks::Entry* entry = state_->directs.find(kind, address);
  if (!entry || entry->second.serial > newest) return out;
  const DirectBlock& block = entry->second;
  out.status = {};
  out.rounded = out.requested = block.bytes;
  out.tag = block.tag;
  out.where = block.where;
  out.serial = state_->last_serial.load(std::memory_order_relaxed);
  state_->forget_direct(kind, address, State::Ended::freed);
  return out;
}

std::uint64_t CachingAllocator::newest() const noexcept {
  return state_->last_serial.load(std::memory_order_relaxed);
}

Found CachingAllocator::find_direct(Kind kind, Address address) const noexcept {
  Found found;
  const State::QuietLock section(*state_);
  static_cast<void>(Reading::find_direct(*state_, space_of(kind), address, found));
  return found;
}

void CachingAllocator::State::forget_direct(Kind kind, Address address, Ended how) {
  const DirectBlock block = directs.remove(kind, address);
  accounts.direct_went(block.where, block.tag, block.bytes,
                       how == Ended::freed ? block.serial : Accounts::kNoLife);
  listed.remove(block.listed);
}

}  // namespace vramscope
