// SPDX-License-Identifier: Apache-2.0
#include "allocator/reuse.h"

#include <new>
#include <utility>

namespace vramscope {

bool AnyBlock::is_live() const {
  return dedicated_ != nullptr ? dedicated_->is_live() : (*table_)[index_].is_live();
}

bool AnyBlock::is_exported() const { return dedicated_ != nullptr && dedicated_->exported; }

CountedBlock AnyBlock::counted() const {
  return dedicated_ != nullptr ? dedicated_->counted() : (*table_)[index_].counted();
}

std::uint64_t AnyBlock::serial() const {
  return dedicated_ != nullptr ? dedicated_->serial : table_->life(index_).serial();
}

Waits::Number AnyBlock::freed() const {
  return dedicated_ != nullptr ? dedicated_->freed : table_->life(index_).freed;
}

std::uint32_t AnyBlock::pending() const {
  return dedicated_ != nullptr ? dedicated_->number : table_->life(index_).pending();
}

bool AnyBlock::is_of(Place where) const {
  return dedicated_ == nullptr || dedicated_->where == where;
}

AnyBlock AnyBlock::next() const {
  return dedicated_ != nullptr ? AnyBlock(dedicated_->next)
                               : AnyBlock(*table_, table_->life(index_).next());
}

void AnyBlock::set_next(const AnyBlock& next) const {
  if (dedicated_ != nullptr) {
    dedicated_->next = next.dedicated_;
  } else {
    BlockLife& life = table_->life(index_);
    life.set_pending(life.pending(), next.index_);
  }
}

void PendingFrees::add(const AnyBlock& block) {
  ++newest_;
  if (DedicatedBlock* own = block.dedicated()) {
    own->state = BlockState::active_pending_free;
    own->number = newest_;
  } else {
    block.table_->keep(block.index_);
    (*block.table_)[block.index_].set_state(BlockState::active_pending_free);
    block.table_->life(block.index_).set_pending(newest_, kNoBlock);
  }
  block.set_next({});
  if (last_) {
    last_.set_next(block);
  } else {
    first_ = block;
  }
  last_ = block;
}

bool PendingFrees::has(Place where) const {
  AnyBlock block = first_;
  while (block && !block.is_of(where)) block = block.next();
  return static_cast<bool>(block);
}

AnyBlock PendingFrees::take(Place where, std::uint32_t newest, std::uint32_t own) {
  const auto is_wanted = [&](const AnyBlock& block) {
    const bool is_old = static_cast<std::int32_t>(newest - block.pending()) >= 0;
    return block.is_of(where) && (is_old || block.pending() == own);
  };
  AnyBlock before;
  AnyBlock block = first_;
  while (block && !is_wanted(block)) before = std::exchange(block, block.next());
  if (!block) return block;
  const AnyBlock next = block.next();
  if (before) {
    before.set_next(next);
  } else {
    first_ = next;
  }
  if (!next) last_ = before;
  block.set_next({});
  return block;
}

Waits* Reuse::find_pinned_waits(Place where) noexcept {
  for (PinnedWaits& one : pinned_waits_) {
    if (one.where == where) return &one.waits;
  }
  return nullptr;
}

Waits& Reuse::pinned_waits(Place where) noexcept try {
  if (Waits* const known = find_pinned_waits(where)) return *known;
  return pinned_waits_.emplace_back(PinnedWaits{where, {}}).waits;
} catch (const std::bad_alloc&) {
  return unproved_ = {};
}

void Reuse::forget_pinned_waits(Place where) noexcept {
  std::erase_if(pinned_waits_, [where](const PinnedWaits& one) { return one.where == where; });
}

bool Reuse::wait_for(Backend& backend, ReuseTime time, Place where, Outcome& out) noexcept {
  Reply waited;
  if (fault(Fault::reuse_without_waiting)) {
    // Nothing is asked.
  } else if (time == ReuseTime::at_free) {
    waited = backend.wait(where);
  } else if (!backend.may_wait(where)) {
    waited.status.result = Result::forbidden;
  }
  if (waited.status.result == Result::forbidden) return false;
  out.wait_ns += waited.ns;
  out.status = waited.status;
  return true;
}

Reuse::Answer Reuse::ask(Mutex& mutex, Place where, bool must_wait, Outcome& out) {
  hits_unasked_ = 0;
  mutex.unlock();
  Reply reply{.status = {Result::forbidden, 0}};
  if (backend_.may_wait(where)) reply = must_wait ? backend_.wait(where) : backend_.probe(where);
  mutex.lock();
  if (must_wait) out.wait_ns += reply.ns;
  const bool forbidden = reply.status.result == Result::forbidden;
  if (forbidden && fault(Fault::refused_proof)) return Answer::fine;
  if (forbidden) return must_wait ? Answer::not_now : Answer::fine;
  out.status = reply.status;
  return reply.status.ok() ? Answer::fine : Answer::error;
}

}  // namespace vramscope
