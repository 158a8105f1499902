// What the device is asked before a free block goes to the program again.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/state.h"

namespace vramscope {

// The device is asked without the lock: a wait for what ran in the block, else only for an error
// that a hit would hide.
CachingAllocator::State::Answer CachingAllocator::State::ask(Place where, bool must_wait,
                                                             Outcome& out) {
  hits_unasked = 0;
  mutex.unlock();
  const bool may_ask = backend.may_wait(where);
  Reply reply;
  if (may_ask) reply = must_wait ? backend.wait(where) : backend.probe(where);
  mutex.lock();
  if (must_wait) out.wait_ns += reply.ns;
  if (!may_ask) return must_wait ? Answer::not_now : Answer::fine;
  out.status = reply.status;
  return reply.status.ok() ? Answer::fine : Answer::error;
}

namespace {

void take_back(Outcome& out) {
  out.address = 0;
  out.rounded = 0;
  out.source = Source::none;
}

}  // namespace

// The block is live already, so nobody else gets it meanwhile, and every total includes it. When it
// is no longer ours after that, its context has ended: the driver may answer.
bool CachingAllocator::State::prove(BlockIndex block, Outcome& out) {
  PlaceMemory& before = *places[blocks.life(block).place];
  const std::uint64_t serial = blocks.life(block).serial();
  const Waits::Number freed = blocks.life(block).freed;
  const bool must_wait = !before.waits.cover(freed);
  const Waits::Number number = must_wait ? before.waits.begin() : 0;
  const Answer answer = ask(out.where, must_wait, out);
  const bool is_ours = blocks[block].is_live() && blocks.life(block).serial() == serial;
  if (is_ours && answer == Answer::fine) {
    if (must_wait) places[blocks.life(block).place]->waits.end(number);
    return true;
  }
  if (is_ours)
    release(*places[blocks.life(block).place], blocks.find_entry(out.address), Accounts::kNoLife,
            freed);
  if (!is_ours) out.status = {Result::failed, 0};
  take_back(out);
  return !is_ours || answer == Answer::error;
}

// A place of dedicated blocks stays while it has some, hence its account of waits.
bool CachingAllocator::State::prove_dedicated(const DedicatedBlock& block, Outcome& out) {
  const std::uint64_t serial = block.serial;
  const bool must_wait = !waits_of(out.where).cover(block.freed);
  const Waits::Number number = must_wait ? waits_of(out.where).begin() : 0;
  const Answer answer = ask(out.where, must_wait, out);
  DedicatedBlock* now = dedicated_of(out.where.kind).find(out.address);
  const bool is_ours = now && now->is_live() && now->serial == serial;
  if (is_ours && answer == Answer::fine) {
    if (must_wait) waits_of(out.where).end(number);
    return true;
  }
  if (is_ours) put_back_dedicated(*now);
  if (!is_ours) out.status = {Result::failed, 0};
  take_back(out);
  return !is_ours || answer == Answer::error;
}

Waits& CachingAllocator::State::waits_of(Place where) {
  return where.kind == Kind::pinned ? pinned_waits : find_place(where)->waits;
}

}  // namespace vramscope
