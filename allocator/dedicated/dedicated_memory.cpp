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
  DedicatedBlocks& owner = dedicated_of(where.kind);
  if (owner.has_pending(where)) drain_pending_dedicated(where, out);
  const std::uint64_t bytes = is_pinned ? pinned_bytes(request.bytes, limits) : request.bytes;
  out.source = Source::hit;
  DedicatedBlock* block = owner.take(where, bytes);
  if (block) {
    hand_out_dedicated(*block, out);
    if (is_proved(waits_of(where), block->freed) || prove_dedicated(*block, out)) return;
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

// As State::free: the wait is between two critical sections, and the block may be another's by
// then. False: no segment of this kind begins there.
bool CachingAllocator::State::free_dedicated(Kind kind, Address address, Wait when,
                                             Outcome& out) noexcept {
  std::uint64_t serial = 0;
  std::uint32_t newest_pending = 0;
  bool goes_back = false;
  {
    MutexLock lock(mutex);
    const DedicatedBlock* block = dedicated_of(kind).find(address);
    if (!block) return false;
    if (!block->is_live()) return true;
    serial = block->serial;
    goes_back = block->exported;
    newest_pending = dedicated_of(kind).newest_pending();
    out.where = block->where;
  }
  const bool skips = kind == Kind::pinned && fault(Fault::pinned_reuse_without_waiting);
  const bool waited = skips || (when == Wait::now && wait_for(out.where, out));
  // What will refuse to take it must say so before it is freed.
  if (waited && goes_back && reuse == ReuseTime::at_reuse) {
    out.status = backend.probe(out.where).status;
  }
  if (waited && !out.status.ok()) return true;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  DedicatedBlocks& owner = dedicated_of(kind);
  DedicatedBlock* block = owner.find(address);
  if (!block || !block->is_live() || block->serial != serial) return true;
  out.status = {};
  out.rounded = block->bytes;
  out.requested = block->requested;
  out.tag = block->tag;
  out.serial = last_serial.load(std::memory_order_relaxed);
  begin_free_dedicated(*block);
  if (waited && !is_held(serial)) {
    const std::uint32_t newest = held_up_to == 0 ? newest_pending : owner.before_all();
    out.status = complete_pending_dedicated(out.where, newest, block->number, out);
  }
  return true;
}

// The program gives the block up; whether it can be reused is known later.
void CachingAllocator::State::begin_free_dedicated(DedicatedBlock& block) {
  block.state = BlockState::active_pending_free;
  dedicated_of(block.where.kind).add_pending(block);
  accounts.given_up(block.where, block.counted(), block.serial);
}

void CachingAllocator::State::complete_free_dedicated(DedicatedBlock& block) {
  block.state = BlockState::inactive;
  block.freed = number_of_free(waits_of(block.where));
  accounts.reusable(block.where, block.counted());
}

// The end of a life that the program never saw: the block carries on as if it had stayed free.
void CachingAllocator::State::put_back_dedicated(DedicatedBlock& block) {
  block.state = BlockState::inactive;
  accounts.freed(block.where, block.counted(), Accounts::kNoLife);
  if (block.exported) {  // by a pointer that the program had freed: nobody else gets it
    Outcome unused;
    release_dedicated(block, unused);
    return;
  }
  dedicated_of(block.where.kind).put(block);
}

// Completes what was pending up to the numbered free, and one that was freed since, in their order.
// Tells whether the backend took that one back, if it was exported: the program would have seen it.
Status CachingAllocator::State::complete_pending_dedicated(Place where, std::uint32_t newest,
                                                           std::uint32_t own, Outcome& out) {
  Status of_own;
  DedicatedBlocks& owner = dedicated_of(where.kind);
  while (DedicatedBlock* block = owner.take_pending(where, newest, own)) {
    complete_free_dedicated(*block);
    const bool is_too_large =
        where.kind == Kind::pinned && block->bytes > limits.pinned_max_cached_size;
    const bool is_exported = block->exported && !fault(Fault::exported_recycled);
    if (!is_exported && !is_too_large) {
      owner.put(*block);
      continue;
    }
    const bool answers = block->exported && block->number == own;
    const Status released = release_dedicated(*block, out).status;
    if (answers) of_own = released;
  }
  return of_own;
}

void CachingAllocator::State::drain_pending_dedicated(Place where, Outcome& out) {
  if (held_up_to != 0) return;
  const std::uint32_t newest = dedicated_of(where.kind).newest_pending();
  Outcome waited;
  mutex.unlock();
  const bool completes = wait_for(where, waited) && waited.status.ok();
  mutex.lock();
  out.wait_ns += waited.wait_ns;
  if (completes && held_up_to == 0) {
    static_cast<void>(complete_pending_dedicated(where, newest, newest, out));
  }
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
  if (owner.has_pending(where)) drain_pending_dedicated(where, out);
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
    if (block.where == where && block.is_live()) begin_free_dedicated(block);
  }
  const std::uint32_t newest = owner.newest_pending();
  while (DedicatedBlock* block = owner.take_pending(where, newest, newest)) {
    complete_free_dedicated(*block);
    owner.put(*block);
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
