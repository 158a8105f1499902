// Dedicated device memory: a segment for one block, which others may be given (IPC, RDMA).
// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "allocator/fault.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// No rounding, and no garbage collection of its own: ages belong to the pools.
void CachingAllocator::State::allocate_whole(const Request& request, Outcome& out) {
  if (!open_place(request.where) || !ledger.prepare(request.tag)) {
    out.status = {Result::failed, 0};
    return;
  }
  if (whole.has_pending(request.where)) drain_pending_whole(request.where, out);
  out.source = Source::hit;
  WholeBlock* block = take_whole(request.where, request.bytes);
  if (block) {
    hand_out_whole(*block, out);
    if (is_proved(waits_of(request.where), block->freed) || prove_whole(*block, out)) return;
  }
  block = obtain_whole(request.where, request.bytes, out);
  if (!block) {
    out.source = Source::none;
    return;
  }
  hand_out_whole(*block, out);
}

void CachingAllocator::State::hand_out_whole(WholeBlock& block, Outcome& out) {
  block.state = BlockState::active_allocated;
  block.requested = out.requested;
  block.tag = out.tag;
  block.serial = next_serial();
  out.address = block.address;
  out.rounded = block.bytes;
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_allocation(block.pool, block.bytes, block.requested, {});
  if (is_oversize(block.bytes, limits)) counters.rare().oversize_allocations.increase(1);
  ledger.count_allocation(block.where, block.tag, block.requested);
}

WholeBlock* CachingAllocator::State::take_whole(Place where, std::uint64_t bytes) {
  WholeBlock* block = whole.take(where, bytes);
  if (block) device_of(where).idle_whole_bytes -= bytes;
  return block;
}

// The ladder of State::obtain without its steps for other sizes: none but this one will do.
WholeBlock* CachingAllocator::State::obtain_whole(Place where, std::uint64_t bytes, Outcome& out) {
  if (limits.collects_garbage()) collect_garbage(where, out);
  if (reject(where, bytes, out)) return nullptr;
  out.source = Source::new_segment;
  WholeBlock* block = attempt_whole(where, bytes, out);
  if (is_out_of_memory(out)) static_cast<void>(give_up_held(where.device));
  if (is_out_of_memory(out) && release_idle(where.device, out)) {
    out.source = Source::after_trim;
    ++device_of(where).counters.rare().num_alloc_retries;
    block = attempt_whole(where, bytes, out);
  }
  if (is_out_of_memory(out)) count_out_of_memory(where, out);
  return block;
}

WholeBlock* CachingAllocator::State::attempt_whole(Place where, std::uint64_t bytes, Outcome& out) {
  const Address address = reserve(where, bytes, out);
  if (!out.status.ok()) return nullptr;
  const bool fresh = is_fresh(address, bytes);
  assert(fresh && "the backend granted an address that is in use");
  WholeBlock* block = nullptr;
  if (fresh && open_place(where) && ledger.prepare(out.tag)) {
    block = whole.add(where, address, bytes);
  }
  if (block) {
    DeviceMemory& device = device_of(where);
    block->pool = pool_class(bytes);
    device.reserved += bytes;
    count_segment(device.counters, block->pool, bytes);
    whole_range.widen(address, bytes);
    return block;
  }
  out.status = {Result::failed, 0};
  if (!fresh) return nullptr;  // giving it back could free memory that is in use
  mutex.unlock();
  static_cast<void>(backend.release(where, address));
  mutex.lock();
  return nullptr;
}

// As State::free: the wait is between two critical sections, and the block may be another's by
// then. False: no dedicated segment begins there.
bool CachingAllocator::State::free_whole(Address address, Wait when, Outcome& out) noexcept {
  std::uint64_t serial = 0;
  std::uint32_t newest_pending = 0;
  {
    MutexLock lock(mutex);
    const WholeBlock* block = whole.find(address);
    if (!block) return false;
    if (!block->is_live()) return true;
    serial = block->serial;
    newest_pending = whole.newest_pending();
    out.where = block->where;
  }
  const bool waited = when == Wait::now && wait_for(out.where, out);
  if (waited && !out.status.ok()) return true;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  WholeBlock* block = whole.find(address);
  if (!block || !block->is_live() || block->serial != serial) return true;
  out.status = {};
  out.rounded = block->bytes;
  out.requested = block->requested;
  out.tag = block->tag;
  begin_free_whole(*block);
  if (waited && !is_held(serial)) {
    const std::uint32_t newest = held_up_to == 0 ? newest_pending : whole.before_all();
    out.status = complete_pending_whole(out.where, newest, block->number, out);
  }
  return true;
}

// The program gives the block up; whether it can be reused is known later.
void CachingAllocator::State::begin_free_whole(WholeBlock& block) {
  block.state = BlockState::active_pending_free;
  whole.add_pending(block);
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_release(block.pool, block.bytes);
  if (is_oversize(block.bytes, limits)) counters.rare().oversize_allocations.decrease(1);
  ledger.count_call_of_free(block.where);
}

void CachingAllocator::State::complete_free_whole(WholeBlock& block) {
  block.state = BlockState::inactive;
  block.freed = number_of_free(waits_of(block.where));
  DeviceCounters& counters = device_of(block.where).counters;
  counters.count_completion(block.pool, block.bytes, block.requested, {});
  ledger.count_completion(block.where, block.tag, block.requested);
}

// The end of a life that the program never saw: the block carries on as if it had stayed free.
void CachingAllocator::State::put_back_whole(WholeBlock& block) {
  block.state = BlockState::inactive;
  DeviceMemory& device = device_of(block.where);
  device.counters.count_free(block.pool, block.bytes, block.requested, {});
  if (is_oversize(block.bytes, limits)) device.counters.rare().oversize_allocations.decrease(1);
  ledger.count_free(block.where, block.tag, block.requested);
  if (block.exported) {  // by a pointer that the program had freed: nobody else gets it
    Outcome unused;
    static_cast<void>(release_whole(block, unused));
    return;
  }
  device.idle_whole_bytes += block.bytes;
  whole.put(block);
}

// Completes what was pending up to the numbered free, and one that was freed since, in their order.
// Tells whether the backend took that one back, if it had to: the program would have seen it.
Status CachingAllocator::State::complete_pending_whole(Place where, std::uint32_t newest,
                                                       std::uint32_t own, Outcome& out) {
  Status of_own;
  while (WholeBlock* block = whole.take_pending(where, newest, own)) {
    complete_free_whole(*block);
    if (!block->exported || fault(Fault::exported_recycled)) {
      device_of(where).idle_whole_bytes += block->bytes;
      whole.put(*block);
      continue;
    }
    const bool is_own = block->number == own;
    const Status released = release_whole(*block, out);
    if (is_own) of_own = released;
  }
  return of_own;
}

void CachingAllocator::State::drain_pending_whole(Place where, Outcome& out) {
  if (held_up_to != 0) return;
  const std::uint32_t newest = whole.newest_pending();
  Outcome waited;
  mutex.unlock();
  const bool completes = wait_for(where, waited) && waited.status.ok();
  mutex.lock();
  out.wait_ns += waited.wait_ns;
  if (completes && held_up_to == 0) {
    static_cast<void>(complete_pending_whole(where, newest, newest, out));
  }
}

// The end in our books of a block that is in no bucket.
void CachingAllocator::State::end_whole(WholeBlock& block) {
  DeviceMemory& device = device_of(block.where);
  device.reserved -= block.bytes;
  count_segment_end(device.counters, block.pool, block.bytes);
  whole.remove(block);
}

// It leaves our books before it goes back: the backend may grant its address again at once.
Status CachingAllocator::State::release_whole(WholeBlock& block, Outcome& out) {
  const Place where = block.where;
  const Address address = block.address;
  end_whole(block);
  ++device_of(where).counters.rare().num_device_free;
  mutex.unlock();
  const Reply reply = backend.release(where, address);
  mutex.lock();
  out.backend_ns += reply.ns;
  return reply.status;
}

void CachingAllocator::State::release_idle_whole(Place where, Outcome& out) {
  if (whole.has_pending(where)) drain_pending_whole(where, out);
  while (WholeBlock* block = whole.take_any(where)) {
    device_of(where).idle_whole_bytes -= block->bytes;
    static_cast<void>(release_whole(*block, out));
  }
}

// As State::forget_place: counted out as if freed, and nobody gave a segment back.
void CachingAllocator::State::forget_whole(Place where) {
  Address from = 0;
  for (;;) {
    const auto it = whole.all().lower_bound(from);
    if (it == whole.all().end()) break;
    from = it->first + 1;
    WholeBlock& block = *whole.find(it->first);
    if (block.where == where && block.is_live()) begin_free_whole(block);
  }
  const std::uint32_t newest = whole.newest_pending();
  while (WholeBlock* block = whole.take_pending(where, newest, newest)) {
    complete_free_whole(*block);
    end_whole(*block);
  }
  while (WholeBlock* block = whole.take_any(where)) {
    device_of(where).idle_whole_bytes -= block->bytes;
    end_whole(*block);
  }
}

// A segment of a pool that is one live block becomes a dedicated one, with all that is known of it.
// nullptr: out of memory.
WholeBlock* CachingAllocator::State::set_apart(Address segment) {
  const auto it = segments.find(segment);
  const BlockIndex index = it->second.first;
  const Block& b = blocks[index];
  WholeBlock* block = whole.add(places[it->second.slot]->place, segment, it->second.bytes);
  if (!block) return nullptr;
  block->requested = b.requested;
  block->serial = blocks.life(index).serial();
  block->tag = b.tag;
  block->state = b.state();
  block->pool = it->second.pool;
  whole_range.widen(segment, it->second.bytes);
  blocks.erase(index);
  blocks.destroy(index);
  segments.erase(it);
  return block;
}

Found CachingAllocator::note_export(Address address) noexcept {
  Found found;
  MutexLock lock(state_->mutex);
  const bool is_set_apart = state_->find_whole(address, found);
  if (!is_set_apart && !state_->find_owned(address, found)) return found;
  if (!found.live || !found.whole) return found;
  WholeBlock* block =
      is_set_apart ? state_->whole.find(found.segment) : state_->set_apart(found.segment);
  if (block) block->exported = true;
  found.exported = block != nullptr;
  return found;
}

}  // namespace vramscope
