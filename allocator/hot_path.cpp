// The fast allocation and the fast free: one critical section, no step that unlocks.
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <ctime>

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"
#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"
#include "allocator/base/nap.h"
#include "allocator/base/size_policy.h"
#include "allocator/idle.h"
#include "allocator/state.h"

namespace vramscope {

[[gnu::flatten]] Outcome CachingAllocator::allocate(const Request& request) noexcept {
  if (request.where.kind == Kind::pinned) return Pinned::allocate_fast(*state_, request);
  return state_->allocate_fast(request);
}

[[gnu::flatten]] Outcome CachingAllocator::free(Address address, Wait when, Only only) noexcept {
  if (when == Wait::now && only != Only::pinned) [[likely]]
    return state_->free_fast(address, only);
  if (when == Wait::now) return Pinned::free_fast(*state_, address);
  return state_->free_otherwise(address, when, only);
}

// A critical section of the fast path. Before it ends, it makes the calls that other threads
// posted.
class VRAMSCOPE_THREAD_ATTRIBUTE(scoped_lockable) CachingAllocator::State::FastPathSection {
 public:
  explicit FastPathSection(State& state) VRAMSCOPE_REQUIRES(state) : state_(&state) {}
  ~FastPathSection() VRAMSCOPE_RELEASE() {
    if (state_ != nullptr) end();
  }
  FastPathSection(const FastPathSection&) = delete;
  FastPathSection& operator=(const FastPathSection&) = delete;

  // Ends the section before its scope.
  void end() VRAMSCOPE_RELEASE() {
    if (state_->posted.any()) [[unlikely]]
      answer_posted(*state_);
    state_->unlock_unsettled();
    state_ = nullptr;
  }

  // Return serve(block) for the free block, or the live one, if the fast path applies; else
  // otherwise().
  template <class Serve, class Otherwise>
  [[nodiscard]] static auto with_fast_path_block(State& state, const Request& request, Serve serve,
                                                 Otherwise otherwise) VRAMSCOPE_REQUIRES(state);
  template <class Serve, class Otherwise>
  [[nodiscard]] static auto with_sole_block(State& state, std::uint64_t packed, Address address,
                                            Serve serve, Otherwise otherwise)
      VRAMSCOPE_REQUIRES(state);

  // Posts the call for the thread that has the lock.
  [[gnu::noinline]] static Outcome allocate_there(State& state, const Request& request) noexcept;
  [[gnu::noinline]] static Outcome free_there(State& state, Address address, Only only,
                                              const PostedCalls::Waited& waited) noexcept;

 private:
  // Whether another thread made the call. If not, the calling thread must make it.
  [[nodiscard]] static bool is_made(State& state,
                                    PostedCalls::Call& call) noexcept VRAMSCOPE_NO_ANALYSIS;
  [[gnu::noinline]] static void answer_posted(State& state) noexcept VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static PostedCalls::Stage answer(State& state, PostedCalls::Call& call)
      VRAMSCOPE_REQUIRES(state);

  State* state_;  // null: it has ended
};

// Applies if a free block serves the request, and no option and no pending free influences the
// choice.
template <class Serve, class Otherwise>
inline auto CachingAllocator::State::FastPathSection::with_fast_path_block(State& state,
                                                                           const Request& request,
                                                                           Serve serve,
                                                                           Otherwise otherwise) {
  PlaceMemory* const place = state.reuse.fast_path().hits;
  if (place && place->place == request.where && !request.dedicated &&
      request.bytes - 1 < kMaxBlockBytes && state.blocks.is_prepared() &&
      state.accounts.tags().are_prepared(request.tag)) [[likely]] {
    const std::uint64_t rounded = round_request(request.bytes);
    const Units size = to_units(rounded);
    if (pool_class(rounded) == PoolClass::small) {
      const Pools::Found found = place->pools.find(PoolClass::small, size);
      if (found.block != kNoBlock) [[likely]]
        return serve(*place, PoolClass::small, found, size);
    } else {
      const bool by_class = state.limits.policy == Policy::native_safe;
      const Units wanted = by_class ? to_units(class_bytes(rounded)) : size;
      const Pools::Found found = place->pools.find(PoolClass::large, wanted);
      if (found.block != kNoBlock &&
          (!by_class || found.size == wanted || fault(Fault::larger_block_serves))) [[likely]]
        return serve(*place, PoolClass::large, found, wanted);
    }
  }
  return otherwise();
}

template <class Serve, class Otherwise>
inline auto CachingAllocator::State::FastPathSection::with_sole_block(State& state,
                                                                      std::uint64_t packed,
                                                                      Address address, Serve serve,
                                                                      Otherwise otherwise) {
  const bool is_sole = state.reuse.sole_place() == packed;
  if (is_sole || fault(Fault::place_unchecked)) [[likely]] {
    const BlockTable::Entry entry = state.blocks.find_entry(address);
    if (entry.block != kNoBlock && state.blocks[entry.block].is_live()) [[likely]]
      return serve(entry);
  }
  return otherwise();
}

inline Outcome CachingAllocator::State::allocate_fast(const Request& request) noexcept {
  if (!try_lock()) [[unlikely]]
    return FastPathSection::allocate_there(*this, request);
  FastPathSection section(*this);
  return FastPathSection::with_fast_path_block(
      *this, request,
      [&](PlaceMemory& place, PoolClass pool, const Pools::Found& found, Units size)
          VRAMSCOPE_NO_ANALYSIS { return hit(place, pool, found, size, request); },
      [&]() VRAMSCOPE_NO_ANALYSIS {
        section.end();
        return allocate_otherwise(request);
      });
}

inline Outcome CachingAllocator::State::hit(PlaceMemory& place, PoolClass pool,
                                            const Pools::Found& found, Units size,
                                            const Request& request) {
  if (!worth_splitting(pool, to_bytes(found.size - size))) size = found.size;
  Outcome out{.status = {},
              .address = blocks[found.block].address(),
              .rounded = to_bytes(size),
              .requested = request.bytes,
              .where = request.where,
              .tag = request.tag,
              .source = Source::hit};
  hand_out(place, pool, found, size, out);
  return out;
}

// The place is known before the block, so one critical section is enough. A block that was
// allocated after the wait began is not the one that the program meant.
inline Outcome CachingAllocator::State::free_fast(Address address, Only only) noexcept {
  const std::uint64_t packed = unguarded_reuse().sole_place();
  if (packed == kSeveralPlaces || !ranges.device.contains(address) ||
      ranges.dedicated.contains(address)) [[unlikely]]
    return free_otherwise(address, Wait::now, only);
  const std::uint64_t newest = last_serial.load(std::memory_order_relaxed);
  const Reply waited = backend.wait_first(Place::unpack(packed));
  if (!waited.status.ok()) [[unlikely]]
    return free_otherwise(address, Wait::now, only);
  if (!try_lock()) [[unlikely]]
    return FastPathSection::free_there(*this, address, only, {packed, newest, waited.ns});
  FastPathSection section(*this);
  return FastPathSection::with_sole_block(
      *this, packed, address,
      [&](BlockTable::Entry entry) VRAMSCOPE_NO_ANALYSIS -> Outcome {
        if (blocks.life(entry.block).serial() > newest) [[unlikely]]
          return {.status = {Result::invalid, 0}, .address = address};
        return hand_back(*reuse.fast_path().frees, entry, waited.ns, nullptr);
      },
      [&]() VRAMSCOPE_NO_ANALYSIS {
        section.end();
        return free_otherwise(address, Wait::now, only);
      });
}

inline Outcome CachingAllocator::State::hand_back(PlaceMemory& place, BlockTable::Entry entry,
                                                  std::uint64_t wait_ns, bool* over_cap) {
  const Block& block = blocks[entry.block];
  blocks.expect(block.prev);
  blocks.expect(block.next);
  const Tag tag = block.tag;
  const std::uint64_t requested = block.requested;
  Outcome out{.status = {},
              .address = block.address(),
              .rounded = to_bytes(block.size),
              .requested = requested,
              .where = place.place,
              .tag = tag,
              .wait_ns = wait_ns,
              .serial = last_serial.load(std::memory_order_relaxed)};
  if (fault(Fault::lost_free)) return out;
  const std::uint64_t serial = blocks.life(entry.block).serial();
  release(place, entry);
  accounts.ended(place.accounts, tag, requested, serial);
  if (over_cap != nullptr) {
    *over_cap = place.pools.is_over_cap();
  } else if (place.pools.is_over_cap()) [[unlikely]] {
    shed_idle(out);
  }
  return out;
}

// A rare step within the fast path.
void CachingAllocator::State::shed_idle(Outcome& out) {
  Idle::shed(*this, out.where, out);
  settle();
}

// Makes `size` units of `found` a live block with the tag and the bytes of the outcome, and sets
// the outcome's number. One record, one address and the tag's total must be prepared.
void CachingAllocator::State::hand_out(PlaceMemory& place, PoolClass pool,
                                       const Pools::Found& found, Units size, Outcome& out) {
  const Tag tag = out.tag;  // avoids a read of a value that was just written
  const std::uint64_t requested = out.requested;
  const SplitChange split = place.pools.take(pool, blocks, found, size);
  Block& b = blocks[found.block];
  b.belong_to(fault(Fault::tag_of_previous_owner) ? b.tag : tag, requested);
  const std::uint64_t serial = next_serial();
  out.serial = serial;
  blocks.life(found.block).set_serial(serial);
  const bool is_outside = fault(Fault::counter_outside_lock);
  if (is_outside) b.set_state(BlockState::active_allocated), unlock_unsettled(), sched_yield();
  accounts.came(place.accounts, {tag, pool, to_bytes(size), requested}, split, serial);
  if (is_outside) lock();
  if (!is_outside) b.set_state(BlockState::active_allocated);
}

// Frees a block that may be in use until its number is covered.
void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry,
                                      std::uint64_t serial, Waits::Number freed) {
  const CountedBlock block = blocks[entry.block].counted();
  blocks.keep_around(entry.block);
  accounts.tags().keep(block.tag);
  if (blocks[entry.block].is_expandable()) {
    blocks.life(entry.block).freed = freed;
    accounts.freed(place.accounts, block);
    accounts.merged(place.accounts, block.pool, {});
    static_cast<void>(Expansion::put_free(*this, place, entry.block));
    return accounts.ended(place.accounts, block.tag, block.requested, serial);
  }
  if (reuse_time == ReuseTime::at_reuse) Pools::number(blocks, entry.block, freed);
  release(place, entry);
  accounts.ended(place.accounts, block.tag, block.requested, serial);
}

void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry) {
  if (blocks[entry.block].pool() == PoolClass::small) {
    release(place, PoolClass::small, entry);
  } else {
    release(place, PoolClass::large, entry);
  }
}

inline void CachingAllocator::State::release(PlaceMemory& place, PoolClass pool,
                                             BlockTable::Entry entry) {
  const Block& b = blocks[entry.block];
  accounts.freed(place.accounts, {b.tag, pool, to_bytes(b.size), b.requested});
  accounts.merged(place.accounts, pool, place.pools.give_back(pool, blocks, entry));
}

Outcome CachingAllocator::State::FastPathSection::allocate_there(State& state,
                                                                 const Request& request) noexcept {
  PostedCalls::Call* const call = state.posted.claim();
  if (call == nullptr) return state.allocate_otherwise(request);
  call->is_free = false;
  call->request = request;
  const bool made = is_made(state, *call);
  const Outcome out = call->out;
  state.posted.give_back(*call);
  return made ? out : state.allocate_otherwise(request);
}

Outcome CachingAllocator::State::FastPathSection::free_there(
    State& state, Address address, Only only, const PostedCalls::Waited& waited) noexcept {
  PostedCalls::Call* const call = state.posted.claim();
  if (call == nullptr) return state.free_otherwise(address, Wait::now, only);
  call->is_free = true;
  call->address = address;
  call->waited = waited;
  const bool made = is_made(state, *call);
  const bool is_over_cap = made && call->is_over_cap;
  Outcome out = call->out;
  state.posted.give_back(*call);
  if (!made) return state.free_otherwise(address, Wait::now, only);
  if (is_over_cap) {
    const ScopedLock section(state);
    Idle::shed(state, out.where, out);
  }
  return out;
}

// The thread with the lock may have unlocked without having seen the call, so the waiting thread
// also tries the lock. After a long wait it sleeps like other waiters.
bool CachingAllocator::State::FastPathSection::is_made(State& state,
                                                       PostedCalls::Call& call) noexcept {
  constexpr int kLooks = 64;   // at the lock, each of which takes the cache line from the holder
  constexpr int kPauses = 16;  // between looks, watching the call
  constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};
  call.call_time = call_time_ns;
  state.posted.post(call);
  for (int look = 0; look < kLooks && !call.is_answered(); ++look) {
    for (int i = 0; i < kPauses && !call.is_answered(); ++i) pause_processor();
    if (!call.is_answered() && state.try_lock()) FastPathSection(state).end();
  }
  if (!call.is_answered() && state.posted.withdraw(call)) return false;
  const KeptErrno kept;
  while (!call.is_answered()) nap(kSleep);
  return call.stage.load(std::memory_order_relaxed) == PostedCalls::Stage::made;
}

void CachingAllocator::State::FastPathSection::answer_posted(State& state) noexcept {
  constexpr int kRounds = 4;  // so that the thread returns to its own work
  const std::uint64_t own_time = call_time_ns;
  for (int i = 0; i < kRounds && state.posted.any(); ++i) {
    state.posted.answer([&state](PostedCalls::Call& call) VRAMSCOPE_NO_ANALYSIS {
      call_time_ns = call.call_time;
      return answer(state, call);
    });
  }
  call_time_ns = own_time;
}

[[gnu::flatten]] PostedCalls::Stage CachingAllocator::State::FastPathSection::answer(
    State& state, PostedCalls::Call& call) {
  using Stage = PostedCalls::Stage;
  const auto decline = [] { return Stage::declined; };
  if (!call.is_free) {
    const auto serve = [&](PlaceMemory& place, PoolClass pool, const Pools::Found& found,
                           Units size) VRAMSCOPE_NO_ANALYSIS {
      call.out = state.hit(place, pool, found, size, call.request);
      return Stage::made;
    };
    return with_fast_path_block(state, call.request, serve, decline);
  }
  const auto serve = [&](BlockTable::Entry entry) VRAMSCOPE_NO_ANALYSIS {
    call.is_over_cap = false;
    if (state.blocks.life(entry.block).serial() > call.waited.newest) {
      call.out = {.status = {Result::invalid, 0}, .address = call.address};
    } else {
      call.out =
          state.hand_back(*state.reuse.fast_path().frees, entry, call.waited.ns, &call.is_over_cap);
    }
    return Stage::made;
  };
  return with_sole_block(state, call.waited.place, call.address, serve, decline);
}

}  // namespace vramscope
