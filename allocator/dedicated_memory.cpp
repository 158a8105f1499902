// Blocks that have a segment to themselves: pinned host memory, by the policy of PyTorch's caching
// host allocator, and dedicated device memory, which others may be given (IPC, RDMA).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "allocator/ground/fault.h"
#include "allocator/ladder.h"
#include "allocator/pinned.h"
#include "allocator/reading.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// Dedicated memory knows no rounding, and no garbage collection of its own: ages belong to pools.
void CachingAllocator::State::allocate_dedicated(const Request& request, Outcome& out) {
  const Place where = request.where;
  const bool is_pinned = where.kind == Kind::pinned;
  if (is_pinned && Pinned::is_cut(*this)) return Pinned::allocate(*this, request, out);
  if (is_pinned) accounts.note_host_use();
  if ((!is_pinned && !open_place(where)) || !accounts.tags().prepare(request.tag)) {
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
  const Ladder::Need need{.store = store,
                          .where = where,
                          .block = bytes,
                          .bytes = bytes,
                          .least = is_pinned ? request.bytes : bytes};
  if (const AnyBlock made = Ladder::obtain(*this, need, out)) {
    hand_out_dedicated(*made.dedicated(), out);
  }
}

void CachingAllocator::State::hand_out_dedicated(DedicatedBlock& block, Outcome& out) {
  block.state = BlockState::active_allocated;
  block.requested = out.requested;
  block.tag = out.tag;
  block.serial = out.serial = next_serial();
  out.address = block.address;
  out.rounded = block.bytes;
  accounts.came(block.where, block.counted(), block.serial);
  listed.note(block);
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
  block->listed = it->second.listed;
  listed.note(*block);
  dedicated_range.widen(segment, it->second.bytes);
  blocks.erase(index);
  blocks.keep(index);
  blocks.destroy(index);
  segments.erase(it);
  return block;
}

Found CachingAllocator::note_export(Address address) noexcept {
  Found found;
  MutexLock lock(state_->mutex);
  const bool is_set_apart = Reading::find_dedicated(*state_, Kind::device, address, found);
  if (!is_set_apart && !Reading::find_in_pools(*state_, address, found)) return found;
  if (!found.live || !found.dedicated) return found;
  DedicatedBlock* block =
      is_set_apart ? state_->dedicated.find(found.segment) : state_->set_apart(found.segment);
  if (block) {
    block->exported = true;
    state_->listed.note(*block);
  }
  found.exported = block != nullptr;
  return found;
}

}  // namespace vramscope
