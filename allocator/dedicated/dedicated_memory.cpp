// Blocks that have a segment to themselves: pinned host memory, by the policy of PyTorch's caching
// host allocator, and dedicated device memory, which others may be given (IPC, RDMA).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "allocator/ground/fault.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// Dedicated memory knows no rounding, and no garbage collection of its own: ages belong to pools.
void CachingAllocator::State::allocate_dedicated(const Request& request, Outcome& out) {
  const Place where = request.where;
  const bool is_pinned = where.kind == Kind::pinned;
  if (is_pinned) accounts.note_host_use();
  if ((!is_pinned && !open_place(where)) || !accounts.prepare(request.tag)) {
    out.status = {Result::failed, 0};
    return;
  }
  const Store store = is_pinned ? Store::pinned : Store::dedicated;
  DedicatedBlocks& owner = dedicated_of(where.kind);
  drain(store, where, out);
  const std::uint64_t bytes = is_pinned ? pinned_bytes(request.bytes, limits) : request.bytes;
  out.source = Source::hit;
  DedicatedBlock* block = owner.take(where, bytes);
  if (block) {
    hand_out_dedicated(*block, out);
    if (reuse.is_proved(waits_of(where), block->freed) || prove(store, AnyBlock(block), out))
      return;
  }
  block = is_pinned ? obtain_pinned(where, bytes, out) : obtain_dedicated(where, bytes, out);
  if (!block) {
    out.source = Source::none;
    return;
  }
  hand_out_dedicated(*block, out);
}

void CachingAllocator::State::hand_out_dedicated(DedicatedBlock& block, Outcome& out) {
  block.state = BlockState::active_allocated;
  block.requested = out.requested;
  block.tag = out.tag;
  block.serial = out.serial = next_serial();
  out.address = block.address;
  out.rounded = block.bytes;
  accounts.came(block.where, block.counted(), block.serial);
}

// A block that is in no bucket goes back; if the backend refuses, it is free.
CachingAllocator::State::Returned CachingAllocator::State::release_dedicated(DedicatedBlock& block,
                                                                             Outcome& out) {
  DedicatedBlocks& owner = dedicated_of(block.where.kind);
  accounts.segment_went(block.where, block.pool, block.bytes);
  DedicatedBlocks::Node node = owner.set_aside(block);
  const Returned returned = give_back(block.where, block.address, out);
  if (returned.fate == Fate::kept && owner.restore(node)) {
    accounts.segment_kept(block.where, block.pool, block.bytes);
    return returned;
  }
  if (returned.fate == Fate::taken) accounts.segment_given_back(block.where);
  owner.destroy(std::move(node));
  return returned;
}

// As release_where(): it ends with the first refusal.
void CachingAllocator::State::release_idle_dedicated(Place where, Outcome& out) {
  DedicatedBlocks& owner = dedicated_of(where.kind);
  drain(where.kind == Kind::pinned ? Store::pinned : Store::dedicated, where, out);
  while (DedicatedBlock* block = owner.take_any(where)) {
    if (release_dedicated(*block, out).fate == Fate::kept) return;
  }
}

// As State::forget_place: counted out as if freed, and nobody gave a segment back.
void CachingAllocator::State::forget_dedicated(Place where) {
  DedicatedBlocks& owner = dedicated_of(where.kind);
  Address from = 0;
  for (;;) {
    const auto it = owner.all().lower_bound(from);
    if (it == owner.all().end()) break;
    from = it->first + 1;
    DedicatedBlock& block = *owner.find(it->first);
    if (block.where != where || !block.is_live()) continue;
    block.state = BlockState::inactive;
    accounts.freed(where, block.counted(), block.serial);
    owner.put(block);
  }
  PendingFrees& pending = reuse.pending(where.kind);
  while (const AnyBlock block = pending.take(where, pending.newest(), pending.newest())) {
    block.dedicated()->state = BlockState::inactive;
    accounts.reusable(where, block.counted());
    owner.put(*block.dedicated());
  }
  while (DedicatedBlock* block = owner.take_any(where)) {
    accounts.segment_went(where, block->pool, block->bytes);
    owner.remove(*block);
  }
}

// A segment of a pool that is one live block becomes a dedicated one, with all that is known of it.
// nullptr: out of memory.
DedicatedBlock* CachingAllocator::State::set_apart(Address segment) {
  const auto it = segments.find(segment);
  const BlockIndex index = it->second.first;
  const Block& b = blocks[index];
  DedicatedBlock* block = dedicated.add(places[it->second.slot]->place, segment, it->second.bytes);
  if (!block) return nullptr;
  block->requested = b.requested;
  block->serial = blocks.life(index).serial();
  block->tag = b.tag;
  block->state = b.state();
  block->pool = it->second.pool;
  dedicated_range.widen(segment, it->second.bytes);
  blocks.erase(index);
  blocks.destroy(index);
  segments.erase(it);
  return block;
}

Found CachingAllocator::note_export(Address address) noexcept {
  Found found;
  MutexLock lock(state_->mutex);
  const bool is_set_apart = state_->find_dedicated(address, found);
  if (!is_set_apart && !state_->find_owned(address, found)) return found;
  if (!found.live || !found.dedicated) return found;
  DedicatedBlock* block =
      is_set_apart ? state_->dedicated.find(found.segment) : state_->set_apart(found.segment);
  if (block) block->exported = true;
  found.exported = block != nullptr;
  return found;
}

}  // namespace vramscope
