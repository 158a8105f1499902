// SPDX-License-Identifier: Apache-2.0
#include "allocator/pending_frees.h"

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
  ++count_;
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
  --count_;
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

}  // namespace vramscope
