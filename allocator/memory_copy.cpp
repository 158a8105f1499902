// SPDX-License-Identifier: Apache-2.0
#include "allocator/memory_copy.h"

#include <ctime>
#include <new>
#include <utility>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"
#include "allocator/listing.h"

namespace vramscope {
namespace {

// Adds room for records that are created between two looks.
std::size_t with_spare(std::size_t records) { return records + records / 16 + 64; }

void make_room(BlockTable::Copy& copy, std::size_t records) {
  copy.blocks.make_room(with_spare(records));
  copy.lives.make_room(with_spare(records));
}

Chains chains_of(const BlockTable::Copy& copy) {
  return {copy.blocks.records(), copy.lives.records()};
}

}  // namespace

CachingAllocator::MemoryCopy::Extent CachingAllocator::MemoryCopy::extent_of(const State& state) {
  const BlockTable& pinned = state.pinned.blocks();
  return {.blocks = state.blocks.extent(),
          .pinned_blocks = pinned.extent(),
          .segments = state.listed.extent(),
          .block_count = state.blocks.block_count() + pinned.block_count(),
          .ledger = Ledger::Copy::extent_of(state.accounts.ledger())};
}

void CachingAllocator::MemoryCopy::make_room() {
  vramscope::make_room(blocks_, extent_.blocks);
  vramscope::make_room(pinned_blocks_, extent_.pinned_blocks);
  segments_.records.make_room(with_spare(extent_.segments));
  Ledger::Copy::Extent ledger = extent_.ledger;
  for (std::size_t* each :
       {&ledger.tags, &ledger.details, &ledger.histories, &ledger.groups, &ledger.joint_peaks}) {
    *each = with_spare(*each);
  }
  ++ledger.timelines;
  ledger_.make_room(ledger);
  told_.devices.reserve(kMaxDevices);
  if (!birth_times_.make_room()) throw std::bad_alloc();
}

bool CachingAllocator::MemoryCopy::has_room(const State& state) const {
  return extent_.blocks <= blocks_.lives.room() &&
         extent_.pinned_blocks <= pinned_blocks_.lives.room() &&
         extent_.segments <= segments_.records.room() && ledger_.has_room(extent_.ledger) &&
         birth_times_.has_room_for(state.accounts.birth_times()) &&
         told_.devices.capacity() >= kMaxDevices;
}

bool CachingAllocator::MemoryCopy::begin(const State& state) {
  extent_ = extent_of(state);
  if (!has_room(state)) return false;
  state.accounts.describe(told_);
  ledger_.begin(state.accounts.ledger());
  birth_times_.copy_from(state.accounts.birth_times());
  state.blocks.begin_copy(blocks_);
  state.pinned.blocks().begin_copy(pinned_blocks_);
  state.listed.begin_copy(segments_);
  return true;
}

void CachingAllocator::MemoryCopy::start_keeping(State& state) {
  state.accounts.tags().start_keeping(ledger_);
  state.blocks.add_copy(blocks_);
  state.pinned.blocks().add_copy(pinned_blocks_);
  state.listed.add_copy(segments_);
}

void CachingAllocator::MemoryCopy::stop_keeping(State& state) {
  state.accounts.tags().stop_keeping(ledger_);
  state.blocks.remove_copy(blocks_);
  state.pinned.blocks().remove_copy(pinned_blocks_);
  state.listed.remove_copy(segments_);
}

bool CachingAllocator::MemoryCopy::go_on(std::size_t bytes) {
  const auto are_copied = [&](BlockTable::Copy& table) {
    return table.blocks.go_on(bytes) && table.lives.go_on(bytes);
  };
  return are_copied(blocks_) && are_copied(pinned_blocks_) && segments_.records.go_on(bytes) &&
         ledger_.go_on(bytes);
}

namespace {

// Pauses for as long as the lock was held, so that the program can continue.
void pause_for_others() noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  const KeptErrno kept;
  nap(kPause);
}

}  // namespace

bool CachingAllocator::MemoryCopy::take(State& state, const Pace& pace) {
  bool is_whole = false;
  {
    const ScopedLock section(state);
    if (!begin(state)) return false;
    if (pace.at_once != nullptr) *pace.at_once = at_once(state);
    is_whole = go_on(pace.bytes);
    if (is_whole) return true;
    start_keeping(state);
  }
  while (!is_whole) {
    pace.between ? pace.between() : pause_for_others();
    const ScopedLock section(state);
    is_whole = go_on(pace.bytes);
    if (is_whole) stop_keeping(state);
  }
  return true;
}

Snapshot CachingAllocator::MemoryCopy::at_once(const State& state) {
  MemoryCopy copy;
  while (!copy.begin(state)) copy.make_room();
  static_cast<void>(copy.go_on(~std::size_t{0}));
  return copy.describe();
}

Snapshot CachingAllocator::MemoryCopy::describe() {
  Snapshot out = std::move(told_);
  out.blocks.reserve(extent_.block_count);
  list({segments_.records.records(), chains_of(blocks_), chains_of(pinned_blocks_)}, birth_times_,
       out);
  ledger_.describe(out);
  return out;
}

}  // namespace vramscope
