// Where new segments for one block come from: the out-of-memory ladders of dedicated and pinned
// memory.
// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// The ladder of State::obtain without its steps for other sizes: none but this one will do.
DedicatedBlock* CachingAllocator::State::obtain_dedicated(Place where, std::uint64_t bytes,
                                                          Outcome& out) {
  if (limits.collects_garbage()) collect_garbage(where, out);
  if (reject(where, bytes, out)) return nullptr;
  out.source = Source::new_segment;
  DedicatedBlock* block = attempt_dedicated(where, bytes, out);
  if (is_out_of_memory(out)) static_cast<void>(end_quarantine(where.device));
  if (is_out_of_memory(out) && release_idle(where.device, out)) {
    out.source = Source::after_trim;
    accounts.count(where.device, &DeviceStatistics::num_alloc_retries);
    block = attempt_dedicated(where, bytes, out);
  }
  if (is_out_of_memory(out)) count_out_of_memory(where, out);
  return block;
}

// PyTorch asks once. What follows a refusal is ours, and part of exact_fallback: pinning is where
// rounding to a power of two can cost as much again as the program asked for.
DedicatedBlock* CachingAllocator::State::obtain_pinned(Place where, std::uint64_t bytes,
                                                       Outcome& out) {
  out.source = Source::new_segment;
  DedicatedBlock* block = attempt_dedicated(where, bytes, out);
  if (!is_out_of_memory(out) || !limits.exact_fallback) return block;
  if (reuse.pending(Kind::pinned).has(where)) hold_up_to(0);
  if (may_release(where)) {
    release_idle_dedicated(where, out);
    out.source = Source::after_trim;
    block = attempt_dedicated(where, bytes, out);
  }
  if (is_out_of_memory(out) && out.requested < bytes) {
    block = attempt_dedicated(where, out.requested, out);
  }
  return block;
}

DedicatedBlock* CachingAllocator::State::attempt_dedicated(Place where, std::uint64_t bytes,
                                                           Outcome& out) {
  const bool is_pinned = where.kind == Kind::pinned;
  const Address address = is_pinned ? ask_backend(where, bytes, out) : reserve(where, bytes, out);
  if (!out.status.ok()) return nullptr;
  const bool fresh = is_fresh(where.kind, address, bytes);
  assert(fresh && "the backend granted an address that is in use");
  DedicatedBlock* block = nullptr;
  if (fresh && (is_pinned || open_place(where)) && accounts.prepare(out.tag)) {
    block = dedicated_of(where.kind).add(where, address, bytes);
  }
  if (block) {
    block->pool = pool_class(bytes);
    accounts.segment_came(where, block->pool, bytes);
    (is_pinned ? pinned_range : dedicated_range).widen(address, bytes);
    return block;
  }
  out.status = {Result::failed, 0};
  if (!fresh) return nullptr;  // giving it back could free memory that is in use
  mutex.unlock();
  static_cast<void>(backend.release(where, address));
  mutex.lock();
  return nullptr;
}

}  // namespace vramscope
