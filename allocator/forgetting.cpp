// Drops a place that has ended. Its blocks are counted as freed by the program, but no segment is
// given back, because the segments no longer exist.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fault.h"
#include "allocator/idle.h"
#include "allocator/state.h"

namespace vramscope {

void CachingAllocator::Reclaim::forget_place(State& state, Place where) {
  for (PendingRelease* release = pending_releases_; release; release = release->next) {
    const bool is_of_it = release->where == where;
    release->lost |= is_of_it && !fault(Fault::release_to_ended_place);
  }
  Address from = 0;
  while (const DirectBlocks::Entry* entry = state.directs.find_of(where, from)) {
    from = entry->first;
    state.forget_direct(where.kind, from, State::Ended::lost);
  }
  if (where.kind == Kind::pinned) state.pinned.forget(state, where);
  if (where.kind == Kind::pinned || where.kind == Kind::device)
    state.dedicated.forget(state, where);
  if (where.kind == Kind::pinned) state.reuse.forget_pinned_waits(where);
  PlaceMemory* place = state.places.find(where);
  if (!place) return;
  const std::uint32_t newest = place->pending.newest();
  Outcome unused;
  static_cast<void>(state.complete(Store::pools, where, newest, newest, unused));
  for (auto it = state.segments.begin(); it != state.segments.end();) {
    const auto next = std::next(it);
    if (it->second.slot == place->slot && it->second.page != 0) {
      forget_blocks(state, *place, it->second);
      it = state.expansion.forget(state, it);
      continue;
    }
    if (it->second.slot == place->slot) {
      forget_blocks(state, *place, it->second);
      const Segment gone = set_aside(state, it).mapped();
      state.listed.remove(gone.listed);
      state.blocks.keep(gone.first);
      state.blocks.destroy(gone.first);  // no call was made: num_device_free stays
    }
    it = next;
  }
  state.places.remove(place->slot);
  Idle::set_caps(state, where.device);
}

void CachingAllocator::Reclaim::forget_blocks(State& state, PlaceMemory& place,
                                              const Segment& segment) {
  for (BlockIndex i = segment.first; i != kNoBlock;) {
    // Merging removes a free neighbour's record, so the walk continues after it.
    BlockIndex next = state.blocks[i].next;
    if (state.blocks[next].is_free()) next = state.blocks[next].next;
    if (state.blocks[i].is_live()) {
      state.release(place, state.blocks.find_entry(state.blocks[i].address()), Accounts::kNoLife,
                    place.waits.now());
    }
    i = next;
  }
}

}  // namespace vramscope
