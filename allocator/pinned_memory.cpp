// Pinned host memory: allocating, freeing, giving back. Policy of PyTorch's caching host allocator.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/fault.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

std::int64_t as_count(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

void CachingAllocator::State::allocate_pinned(const Request& request, Outcome& out) {
  host_used = true;
  if (pinned.has_pending(request.where)) drain_pending_pinned(request.where, out);
  if (!ledger.prepare(request.tag)) {
    out.status = {Result::failed, 0};
    return;
  }
  const std::uint64_t bytes = pinned_bytes(request.bytes, limits);
  WholeBlock* block = pinned.take(request.where, bytes);
  out.source = Source::hit;
  if (block) {
    hand_out_pinned(*block, out);
    if (is_proved(pinned_waits, block->freed) || prove_whole(*block, out)) return;
  }
  block = obtain_pinned(request, bytes, out);
  if (!block) {
    out.source = Source::none;
    return;
  }
  hand_out_pinned(*block, out);
}

void CachingAllocator::State::hand_out_pinned(WholeBlock& block, Outcome& out) {
  block.state = BlockState::active_allocated;
  block.requested = out.requested;
  block.tag = out.tag;
  block.serial = next_serial();
  out.address = block.address;
  out.rounded = block.bytes;
  host.allocated.increase(1);
  host.allocated_bytes.increase(as_count(block.bytes));
  host.active_requests.increase(1);
  host.active_bytes.increase(as_count(block.bytes));
  ledger.count_allocation(block.where, block.tag, block.requested);
}

// PyTorch asks once. What follows a refusal is ours, and part of exact_fallback: pinning is where
// rounding to a power of two can cost as much again as the program asked for.
WholeBlock* CachingAllocator::State::obtain_pinned(const Request& request, std::uint64_t bytes,
                                                   Outcome& out) {
  out.source = Source::new_segment;
  WholeBlock* block = attempt_pinned(request.where, bytes, out);
  if (!is_out_of_memory(out) || !limits.exact_fallback) return block;
  if (pinned.has_pending(request.where)) held_up_to = 0;
  if (release_idle_pinned(request.where, out)) {
    out.source = Source::after_trim;
    block = attempt_pinned(request.where, bytes, out);
  }
  if (is_out_of_memory(out) && request.bytes < bytes) {
    block = attempt_pinned(request.where, request.bytes, out);
  }
  return block;
}

WholeBlock* CachingAllocator::State::attempt_pinned(Place where, std::uint64_t bytes,
                                                    Outcome& out) {
  mutex.unlock();
  const Grant grant = backend.reserve(where, bytes);
  mutex.lock();
  out.backend_ns += grant.ns;
  out.status = grant.status;
  if (!grant.status.ok()) return nullptr;
  const bool is_known = pinned.find_around(grant.address) != nullptr;
  WholeBlock* block = pinned.add(where, grant.address, bytes);
  if (block && ledger.prepare(out.tag)) {
    host.segment.increase(1);
    host.reserved_bytes.increase(as_count(bytes));
    ++host.num_host_alloc;
    pinned_range.widen(grant.address, bytes);
    return block;
  }
  out.status = {Result::failed, 0};
  if (block) pinned.remove(*block);
  if (is_known) return nullptr;  // giving it back could free memory that is in use
  mutex.unlock();
  static_cast<void>(backend.release(where, grant.address));
  mutex.lock();
  return nullptr;
}

// As State::free: the wait is between two critical sections, and the block may be another's by
// then. False: no block of pinned memory begins there.
bool CachingAllocator::State::free_pinned(Address address, Outcome& out) noexcept {
  std::uint64_t serial = 0;
  std::uint32_t newest_pending = 0;
  {
    MutexLock lock(mutex);
    const WholeBlock* block = pinned.find(address);
    if (!block) return false;
    if (!block->is_live()) return true;
    serial = block->serial;
    newest_pending = pinned.newest_pending();
    out.where = block->where;
  }
  const bool waited = fault(Fault::pinned_reuse_without_waiting) || wait_for(out.where, out);
  if (waited && !out.status.ok()) return true;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  WholeBlock* block = pinned.find(address);
  if (!block || !block->is_live() || block->serial != serial) return true;
  out.status = {};
  out.rounded = block->bytes;
  out.requested = block->requested;
  out.tag = block->tag;
  begin_free_pinned(*block);
  if (waited && !is_held(serial)) {
    const std::uint32_t newest = held_up_to == 0 ? newest_pending : pinned.before_all();
    complete_pending_pinned(out.where, newest, block->number, out);
  }
  return true;
}

// The program gives the block up; whether it can be reused is known later.
void CachingAllocator::State::begin_free_pinned(WholeBlock& block) {
  block.state = BlockState::active_pending_free;
  pinned.add_pending(block);
  host.allocated.decrease(1);
  host.allocated_bytes.decrease(as_count(block.bytes));
  ledger.count_call_of_free(block.where);
}

void CachingAllocator::State::complete_free_pinned(WholeBlock& block) {
  block.state = BlockState::inactive;
  block.freed = number_of_free(pinned_waits);
  host.active_requests.decrease(1);
  host.active_bytes.decrease(as_count(block.bytes));
  ledger.count_completion(block.where, block.tag, block.requested);
}

// The end of a life that the program never saw: the block carries on as if it had stayed free.
void CachingAllocator::State::put_back_pinned(WholeBlock& block) {
  block.state = BlockState::inactive;
  host.allocated.decrease(1);
  host.allocated_bytes.decrease(as_count(block.bytes));
  host.active_requests.decrease(1);
  host.active_bytes.decrease(as_count(block.bytes));
  ledger.count_free(block.where, block.tag, block.requested);
  pinned.put(block);
}

// Completes what was pending up to the numbered free, and one that was freed since, in their order.
void CachingAllocator::State::complete_pending_pinned(Place where, std::uint32_t newest,
                                                      std::uint32_t own, Outcome& out) {
  while (WholeBlock* block = pinned.take_pending(where, newest, own)) {
    complete_free_pinned(*block);
    if (block->bytes <= limits.pinned_max_cached_size) {
      pinned.put(*block);
    } else {
      release_pinned(*block, out);
    }
  }
}

void CachingAllocator::State::drain_pending_pinned(Place where, Outcome& out) {
  if (held_up_to != 0) return;
  const std::uint32_t newest = pinned.newest_pending();
  Outcome waited;
  mutex.unlock();
  const bool completes = wait_for(where, waited) && waited.status.ok();
  mutex.lock();
  out.wait_ns += waited.wait_ns;
  if (completes && held_up_to == 0) complete_pending_pinned(where, newest, newest, out);
}

// A block that is in no bucket leaves our books before it goes back.
void CachingAllocator::State::release_pinned(WholeBlock& block, Outcome& out) {
  const Place where = block.where;
  const Address address = block.address;
  count_pinned_end(block);
  pinned.remove(block);
  ++host.num_host_free;
  mutex.unlock();
  out.backend_ns += backend.release(where, address).ns;
  mutex.lock();
}

void CachingAllocator::State::count_pinned_end(const WholeBlock& block) {
  host.segment.decrease(1);
  host.reserved_bytes.decrease(as_count(block.bytes));
}

bool CachingAllocator::State::release_idle_pinned(Place where, Outcome& out) {
  if (!may_release(where)) return false;
  if (pinned.has_pending(where)) drain_pending_pinned(where, out);
  while (WholeBlock* block = pinned.take_any(where)) release_pinned(*block, out);
  return true;
}

void CachingAllocator::State::release_all_idle_pinned(Outcome& out) {
  Address from = 0;
  for (;;) {  // places are found by their blocks; each call may change these
    const auto it = pinned.all().lower_bound(from);
    if (it == pinned.all().end()) return;
    from = it->first + 1;
    if (it->second.is_live()) continue;
    static_cast<void>(release_idle_pinned(it->second.where, out));
  }
}

void CachingAllocator::State::forget_pinned(Place where) {
  Address from = 0;
  for (;;) {
    const auto it = pinned.all().lower_bound(from);
    if (it == pinned.all().end()) break;
    from = it->first + 1;
    WholeBlock& block = *pinned.find(it->first);
    if (block.where == where && block.is_live()) begin_free_pinned(block);
  }
  const std::uint32_t newest = pinned.newest_pending();
  while (WholeBlock* block = pinned.take_pending(where, newest, newest)) {
    complete_free_pinned(*block);
    pinned.put(*block);
  }
  while (WholeBlock* block = pinned.take_any(where)) {  // no call was made: num_host_free stays
    count_pinned_end(*block);
    pinned.remove(*block);
  }
}

}  // namespace vramscope
