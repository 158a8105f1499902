// Serves requests by dedicated blocks: pinned host memory by the policy of PyTorch's caching host
// allocator, and device memory that can be exported (IPC, RDMA).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "allocator/ladder.h"
#include "allocator/reading.h"
#include "allocator/state.h"

namespace vramscope {

// Dedicated memory is not rounded and has no garbage collection, since only pools have ages.
void CachingAllocator::Dedicated::allocate(State& state, const Request& request, Outcome& out) {
  const Place where = request.where;
  const bool is_pinned = where.kind == Kind::pinned;
  if (is_pinned && state.pinned.is_cut()) return state.pinned.allocate(state, request, out);
  if (is_pinned) state.accounts.note_host_use();
  if ((!is_pinned && !state.open_place(where)) || !state.accounts.tags().prepare(request.tag)) {
    out.status = {Result::failed, 0};
    return;
  }
  const Store store = is_pinned ? Store::pinned : Store::dedicated;
  DedicatedBlocks& owner = of(where.kind);
  state.drain(store, where, out);
  const std::uint64_t bytes = is_pinned ? pinned_bytes(request.bytes, state.limits) : request.bytes;
  out.source = Source::hit;
  DedicatedBlock* block = owner.take(where, bytes);
  if (block) {
    hand_out(state, *block, out);
    if (state.reuse.is_proved(state.waits_of(where), block->freed) ||
        state.prove(store, AnyBlock(block), out))
      return;
  }
  const Ladder::Need need{.store = store,
                          .where = where,
                          .block = bytes,
                          .bytes = bytes,
                          .least = is_pinned ? request.bytes : bytes};
  if (const AnyBlock made = Ladder(need, out).obtain(state)) {
    hand_out(state, *made.dedicated(), out);
  }
}

void CachingAllocator::Dedicated::hand_out(State& state, DedicatedBlock& block, Outcome& out) {
  block.state = BlockState::active_allocated;
  block.requested = out.requested;
  block.tag = out.tag;
  block.serial = out.serial = state.next_serial();
  out.address = block.address;
  out.rounded = block.bytes;
  state.accounts.came(block.where, block.counted(), block.serial);
  state.listed.note(block);
}

// Turns a pool's segment that is one live block into a dedicated block. Returns nullptr if memory
// is exhausted.
DedicatedBlock* CachingAllocator::Dedicated::set_apart(State& state, Address segment) {
  const auto it = state.segments.find(segment);
  const BlockIndex index = it->second.first;
  const Block& b = state.blocks[index];
  DedicatedBlock* block =
      device_.add(state.places[it->second.slot]->place, segment, it->second.bytes);
  if (!block) return nullptr;
  block->requested = b.requested;
  block->serial = state.blocks.life(index).serial();
  block->tag = b.tag;
  block->state = b.state();
  block->pool = it->second.pool;
  block->listed = it->second.listed;
  state.listed.note(*block);
  state.ranges.dedicated.widen(segment, it->second.bytes);
  state.blocks.erase(index);
  state.blocks.keep(index);
  state.blocks.destroy(index);
  state.segments.erase(it);
  return block;
}

// Frees a block. Exported blocks and blocks that are too large to keep go back to the backend.
Status CachingAllocator::Dedicated::store(State& state, DedicatedBlock& block, Outcome& out) {
  const bool is_too_large =
      block.where.kind == Kind::pinned && block.bytes > state.limits.pinned_max_cached_size;
  if (is_too_large || (block.exported && !fault(Fault::exported_recycled))) {
    const bool answers = block.exported;
    const Status released = state.reclaim.dedicated_segment(state, block, out).status;
    return answers ? released : Status{};
  }
  of(block.where.kind).put(block);
  return {};
}

void CachingAllocator::Dedicated::forget(State& state, Place where) {
  DedicatedBlocks& owner = of(where.kind);
  for (auto it = owner.all().begin(); it != owner.all().end(); ++it) {
    if (it->second.where != where || !it->second.is_live()) continue;
    DedicatedBlock& block = *owner.find(it->first);
    block.state = BlockState::inactive;
    state.accounts.freed(where, block.counted(), block.serial);
    state.listed.note(block);
    owner.put(block);
  }
  PendingFrees& pending = state.reuse.pending(where.kind);
  while (const AnyBlock block = pending.take(where, pending.newest(), pending.newest())) {
    block.dedicated()->state = BlockState::inactive;
    state.accounts.reusable(where, block.counted());
    state.listed.note(*block.dedicated());
    owner.put(*block.dedicated());
  }
  while (DedicatedBlock* block = owner.take_any(where)) {
    state.accounts.segment_went(where, block->pool, block->bytes);
    state.listed.remove(block->listed);
    owner.remove(*block);
  }
}

Found CachingAllocator::note_export(Address address) noexcept {
  Found found;
  const ScopedLock section(*state_);
  const bool is_set_apart = Reading::find_dedicated(*state_, Kind::device, address, found);
  if (!is_set_apart && !Reading::find_in_pools(*state_, address, found)) return found;
  if (!found.live || !found.dedicated) return found;
  DedicatedBlock* block = is_set_apart ? state_->dedicated.of(Kind::device).find(found.segment)
                                       : state_->dedicated.set_apart(*state_, found.segment);
  if (block) {
    block->exported = true;
    state_->listed.note(*block);
  }
  found.exported = block != nullptr;
  return found;
}

}  // namespace vramscope
