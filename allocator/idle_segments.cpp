// Releases idle segments, and restores those that the backend keeps.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <utility>

#include "allocator/base/fault.h"
#include "allocator/base/nap.h"
#include "allocator/base/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// Truncates, as PyTorch does for limits and thresholds.
std::uint64_t CachingAllocator::Reclaim::part_of(std::uint64_t bytes, double share) {
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

bool CachingAllocator::Reclaim::may_release(State& state, Place where) {
  state.unlock();
  const bool may = state.backend.may_release(where);
  state.lock();
  return may;
}

// Releases what no live block needs in all places of a device. It counts once for the device, and
// only if some place may be touched now.
bool CachingAllocator::Reclaim::idle(State& state, std::uint16_t device, Outcome& out) {
  if (fault(Fault::idle_kept) && state.limits.policy == Policy::native_safe) return false;
  bool counted = false;
  for (std::size_t slot = 0; slot < state.places.size(); ++slot) {
    if (!state.places[slot] || state.places[slot]->place.device != device) continue;
    const Place where = state.places[slot]->place;
    if (!may_release(state, where)) continue;
    if (!counted) state.accounts.note(Accounts::Event::sync_of_all, device);
    counted = true;
    state.drain(Store::pools, where, out);
    where_wanted(
        state, where, [](const Segment&, std::uint32_t) { return true; }, out);
    state.expansion.give_back_idle(state, where, out);
    idle_dedicated(state, where, out);
  }
  return counted;
}

// The wait is bounded, because a backend that waits for work may wait for the caller's next step.
bool CachingAllocator::Reclaim::await_pending_releases(State& state, std::uint16_t device) {
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 200'000};
  constexpr int kMostNaps = 5000;  // a second
  const auto others_give_back = [&]() VRAMSCOPE_REQUIRES(state) {
    for (const PendingRelease* one = pending_releases_; one; one = one->next) {
      if (one->where.device == device && one->thread != this_holder()) return true;
    }
    return false;
  };
  bool waited = false;
  for (int i = 0; i < kMostNaps && others_give_back(); ++i) {
    waited = true;
    state.unlock();
    nap(kNap);
    state.lock();
  }
  return waited;
}

// Calls the backend for a segment that no request can find. The segment is not in our books,
// because the backend may grant its address again at once. A capture may have begun since the
// caller checked.
CachingAllocator::Reclaim::ReleaseReply CachingAllocator::Reclaim::give_back(State& state,
                                                                             Place where,
                                                                             Address address,
                                                                             Outcome& out) {
  PendingRelease release{.where = where, .thread = this_holder(), .next = pending_releases_};
  pending_releases_ = &release;
  state.unlock();
  const bool may = state.backend.may_release(where);
  Reply reply;
  if (may) reply = state.backend.release(where, address);
  const bool asked = may && reply.status.result != Result::forbidden;
  const bool refused = asked && !reply.status.ok() && state.backend.may_release(where);
  state.lock();
  PendingRelease** link = &pending_releases_;
  while (*link != &release) link = &(*link)->next;
  *link = release.next;
  out.backend_ns += reply.ns;
  if (may && reply.status.ok()) return {ReleaseResult::released, {}};
  const bool is_gone = release.lost || reply.status.result == Result::invalid;
  // During a capture a free succeeds and is completed later.
  const Status answer = refused ? Status{Result::failed, reply.status.code} : Status{};
  return {is_gone ? ReleaseResult::place_ended : ReleaseResult::retained, answer};
}

// Releases an idle segment. If the backend refuses, the segment stays unchanged.
CachingAllocator::Reclaim::ReleaseResult CachingAllocator::Reclaim::pool_segment(
    State& state, Segments::iterator it, Outcome& out) {
  Segments::node_type node = set_aside(state, it);
  const Address address = node.key();
  const Segment segment = node.mapped();
  const Place where = state.places[segment.slot]->place;
  const Aside aside(*this, 1);
  const ReleaseResult result = give_back(state, where, address, out).result;
  if (result == ReleaseResult::retained && state.is_fresh(Kind::device, address, segment.bytes)) {
    state.segments.insert(std::move(node));
    state.places[segment.slot]->pools.restore(state.blocks, segment.first);
    state.accounts.segment_kept(where, segment.pool, segment.bytes);
    state.listed.show(segment.listed);
    return result;
  }
  state.listed.remove(segment.listed);
  state.blocks.keep(segment.first);
  state.blocks.destroy(segment.first);
  if (result == ReleaseResult::released) state.accounts.segment_given_back(where);
  return result;
}

// A walk over segments in order of address, which releases the lock at intervals, since a walk over
// a large device takes milliseconds. It ends if a capture begins meanwhile.
class CachingAllocator::Reclaim::Walk {
 public:
  Walk(State& state, Place where) VRAMSCOPE_REQUIRES(state)
      : where_(where), at_(state.segments.begin()) {}

  // Returns the next idle segment of the place; nullptr if there is none or the place has ended.
  // Unlocks.
  [[nodiscard]] const Segments::value_type* idle(State& state) VRAMSCOPE_REQUIRES(state) {
    const PlaceMemory* place = state.places.find(where_);
    for (; place && at_ != state.segments.end(); ++at_) {
      if (++steps_ % kMostSteps == 0) {
        if (!pause(state)) return nullptr;
        place = state.places.find(where_);
        if (!place || at_ == state.segments.end()) return nullptr;
      }
      if (at_->second.slot == place->slot && is_idle(state, at_->second)) return &*at_;
    }
    return nullptr;
  }
  void skip() { ++at_; }
  // Releases the current segment. Unlocks.
  ReleaseResult give_back(State& state, Outcome& out) VRAMSCOPE_REQUIRES(state) {
    const Address address = at_->first;
    steps_ = 0;
    const ReleaseResult result = state.reclaim.pool_segment(state, at_, out);
    at_ = state.segments.upper_bound(address);
    return result;
  }

 private:
  static constexpr std::size_t kMostSteps = 2048;

  [[nodiscard]] bool pause(State& state) VRAMSCOPE_REQUIRES(state) {
    const Address next = at_->first;
    const bool may = may_release(state, where_);
    at_ = state.segments.lower_bound(next);
    return may;
  }

  const Place where_;
  Segments::iterator at_;
  std::size_t steps_ = 0;  // since the lock was last free
};

// Releases the idle segments of a place that `wanted` picks, and returns their bytes. It ends with
// the first refusal, because a capture or a sticky error refuses all of them.
template <class Wanted>
std::uint64_t CachingAllocator::Reclaim::where_wanted(State& state, Place where, Wanted wanted,
                                                      Outcome& out) {
  std::uint64_t bytes = 0;
  Walk walk(state, where);
  while (const auto* idle = walk.idle(state)) {
    const Segment segment = idle->second;
    if (!wanted(segment, age(state, segment))) {
      walk.skip();
      continue;
    }
    if (walk.give_back(state, out) == ReleaseResult::retained) break;
    bytes += segment.bytes;
  }
  return bytes;
}

// Calls look() for each idle segment of a place's large pool.
template <class Look>
void CachingAllocator::Reclaim::each_idle_large(State& state, Place where, Look look) {
  const PlaceMemory* place = state.places.find(where);
  for (auto it = state.segments.begin(); place && it != state.segments.end(); ++it) {
    const Segment& segment = it->second;
    if (segment.slot == place->slot && segment.pool == PoolClass::large &&
        is_idle(state, segment)) {
      look(it->first, segment, age(state, segment));
    }
  }
}

// Oversize blocks serve only oversize requests, so they go first: the smallest that makes enough
// room alone, else the largest ones until their sum does. Another attempt is worthwhile only then.
// As in PyTorch, a larger expandable block ends the search for a single one, although it does not
// go back itself.
bool CachingAllocator::Reclaim::oversize(State& state, Place where, std::uint64_t rounded,
                                         Outcome& out) {
  if (state.limits.max_split_size == Limits::kUnlimited) return false;
  if (pool_class(rounded) == PoolClass::small) return false;
  const std::uint64_t oversize = state.limits.max_split_size;
  const std::uint64_t target = std::max(rounded, oversize);
  for (std::uint64_t released = 0; released < target;) {
    if (!may_release(state, where)) return false;
    Address smallest = 0, largest = 0;
    std::uint64_t smallest_bytes = Limits::kUnlimited, largest_bytes = 0;
    const Expansion::Position stop = Expansion::first_free(state, where, target);
    each_idle_large(state, where, [&](Address address, const Segment& segment, std::uint32_t) {
      if (segment.bytes < oversize) return;
      if (segment.bytes >= target && Expansion::Position{segment.bytes, address} > stop) return;
      if (segment.bytes >= largest_bytes) largest = address, largest_bytes = segment.bytes;
      if (segment.bytes < target || segment.bytes >= smallest_bytes) return;
      smallest = address, smallest_bytes = segment.bytes;
    });
    const Address chosen = released == 0 && smallest != 0 ? smallest : largest;
    if (chosen == 0) return false;
    const auto it = state.segments.find(chosen);
    const std::uint64_t bytes = it->second.bytes;
    if (pool_segment(state, it, out) == ReleaseResult::retained) return false;
    released += bytes;
  }
  return true;
}

// Above the threshold, releases all large segments that were idle for at least the mean number of
// searches, so that this does not happen at every request. It does not wait, because the backend's
// release waits.
void CachingAllocator::Reclaim::collect_garbage(State& state, Place where, Outcome& out) {
  const PlaceMemory* place = state.places.find(where);
  if (!place) return;
  const std::uint64_t limit = part_of(place->total_bytes, state.limits.memory_fraction);
  const std::uint64_t threshold = part_of(limit, state.limits.garbage_collection_threshold);
  const std::uint64_t reserved = state.accounts.capacities().use(where.device).reserved;
  if (reserved <= threshold || !may_release(state, where)) return;
  for (std::uint64_t left = reserved - threshold; left > 0;) {
    std::uint64_t count = 0, sum = 0;
    each_idle_large(state, where, [&](Address, const Segment&, std::uint32_t age) {
      ++count;
      sum += age;
    });
    if (count == 0) return;
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    const auto is_old = [&](const Segment& segment, std::uint32_t age) {
      return segment.pool == PoolClass::large && static_cast<double>(age) >= mean;
    };
    const std::uint64_t released = where_wanted(state, where, is_old, out);
    if (released == 0) return;
    left -= std::min(left, released);
  }
}

// As above, but for both pools, and a round ends when enough has gone back. Ages differ if a
// segment was requested in between.
void CachingAllocator::Reclaim::oldest(State& state, Place where, std::uint64_t bytes,
                                       Outcome& out) {
  if (!may_release(state, where)) return;
  while (bytes > 0) {
    std::uint64_t count = 0, sum = 0;
    Walk walk(state, where);
    for (; const auto* idle = walk.idle(state); walk.skip()) {
      ++count;
      sum += age(state, idle->second);
    }
    if (count == 0) return;
    const std::uint64_t mean = sum / count;
    std::uint64_t chosen = 0;
    const auto is_wanted = [&](const Segment& segment, std::uint32_t age) {
      const bool is_old = age >= mean && chosen < bytes;
      if (is_old) chosen += segment.bytes;
      return is_old;
    };
    const std::uint64_t released = where_wanted(state, where, is_wanted, out);
    if (released == 0) return;
    bytes -= std::min(bytes, released);
  }
}

std::uint32_t CachingAllocator::Reclaim::age(State& state, const Segment& segment) {
  return state.places[segment.slot]->pools.age(state.blocks[segment.first]);
}

// Releases a block that is in no bucket. If the backend refuses, the block is free.
CachingAllocator::Reclaim::ReleaseReply CachingAllocator::Reclaim::dedicated_segment(
    State& state, DedicatedBlock& block, Outcome& out) {
  DedicatedBlocks& owner = state.dedicated.of(block.where.kind);
  state.accounts.segment_went(block.where, block.pool, block.bytes);
  state.listed.hide(block.listed);
  DedicatedBlocks::Node node = owner.set_aside(block);
  const ReleaseReply reply = give_back(state, block.where, block.address, out);
  if (reply.result == ReleaseResult::retained && owner.restore(node)) {
    state.accounts.segment_kept(block.where, block.pool, block.bytes);
    state.listed.show(block.listed);
    return reply;
  }
  state.listed.remove(block.listed);
  if (reply.result == ReleaseResult::released) state.accounts.segment_given_back(block.where);
  owner.destroy(std::move(node));
  return reply;
}

// Ends with the first refusal, as above.
void CachingAllocator::Reclaim::idle_dedicated(State& state, Place where, Outcome& out) {
  DedicatedBlocks& owner = state.dedicated.of(where.kind);
  state.drain(where.kind == Kind::pinned ? Store::pinned : Store::dedicated, where, out);
  while (DedicatedBlock* block = owner.take_any(where)) {
    if (dedicated_segment(state, *block, out).result == ReleaseResult::retained) return;
  }
}

bool CachingAllocator::Reclaim::is_idle(State& state, const Segment& segment) {
  const Block& first = state.blocks[segment.first];
  return first.is_free() && !first.is_part();
}

Segments::node_type CachingAllocator::Reclaim::set_aside(State& state, Segments::iterator it) {
  const Segment& segment = it->second;
  PlaceMemory& place = *state.places[segment.slot];
  place.pools.set_aside(state.blocks, segment.first);
  state.accounts.segment_went(place.place, segment.pool, segment.bytes);
  state.listed.hide(segment.listed);
  return state.segments.extract(it);
}

}  // namespace vramscope
