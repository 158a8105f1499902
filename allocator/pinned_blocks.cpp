// Buckets of free pinned blocks, and the queue of pending ones.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pinned_blocks.h"

#include <bit>
#include <iterator>
#include <new>
#include <utility>

namespace vramscope {

PinnedBlocks::Bucket PinnedBlocks::bucket_of(Place where, std::uint64_t bytes) {
  return {where.context, static_cast<unsigned>(std::countr_zero(std::bit_ceil(bytes)))};
}

PinnedBlock* PinnedBlocks::add(Place where, Address address, std::uint64_t bytes) noexcept try {
  if (address == 0 || address > ~Address{0} - bytes) return nullptr;
  const auto above = blocks_.lower_bound(address);
  if (above != blocks_.end() && above->first < address + bytes) return nullptr;
  if (find_around(address)) return nullptr;
  newest_.try_emplace(bucket_of(where, bytes), nullptr);
  PinnedBlock& block = blocks_[address];
  block.where = where;
  block.address = address;
  block.bytes = bytes;
  return &block;
} catch (const std::bad_alloc&) {
  return nullptr;
}

PinnedBlock* PinnedBlocks::take(Place where, std::uint64_t bytes) noexcept {
  const auto bucket = newest_.find(bucket_of(where, bytes));
  if (bucket == newest_.end()) return nullptr;
  PinnedBlock** link = &bucket->second;  // only sizes that were not rounded need a second look
  while (*link && (*link)->bytes < bytes) link = &(*link)->next;
  PinnedBlock* block = *link;
  if (block) *link = std::exchange(block->next, nullptr);
  return block;
}

PinnedBlock* PinnedBlocks::take_any(Place where) noexcept {
  for (auto it = newest_.lower_bound({where.context, 0});
       it != newest_.end() && std::get<0>(it->first) == where.context; ++it) {
    PinnedBlock* block = it->second;
    if (!block) continue;
    it->second = std::exchange(block->next, nullptr);
    return block;
  }
  return nullptr;
}

void PinnedBlocks::put(PinnedBlock& block) noexcept {
  PinnedBlock*& newest = newest_.find(bucket_of(block.where, block.bytes))->second;
  block.next = std::exchange(newest, &block);
}

PinnedBlock* PinnedBlocks::find(Address address) noexcept {
  const auto it = blocks_.find(address);
  return it == blocks_.end() ? nullptr : &it->second;
}

const PinnedBlock* PinnedBlocks::find_around(Address address) const noexcept {
  const auto above = blocks_.upper_bound(address);
  if (above == blocks_.begin()) return nullptr;
  const PinnedBlock& block = std::prev(above)->second;
  return address - block.address < block.bytes ? &block : nullptr;
}

void PinnedBlocks::add_pending(PinnedBlock& block) noexcept {
  block.number = ++newest_pending_;
  block.next = nullptr;
  (last_pending_ ? last_pending_->next : first_pending_) = &block;
  last_pending_ = &block;
}

bool PinnedBlocks::has_pending(Place where) const noexcept {
  const PinnedBlock* block = first_pending_;
  while (block && block->where != where) block = block->next;
  return block != nullptr;
}

PinnedBlock* PinnedBlocks::take_pending(Place where, std::uint32_t newest,
                                        std::uint32_t own) noexcept {
  const auto is_wanted = [&](const PinnedBlock& block) {
    const bool is_old = static_cast<std::int32_t>(newest - block.number) >= 0;
    return block.where == where && (is_old || block.number == own);
  };
  PinnedBlock* before = nullptr;
  PinnedBlock* block = first_pending_;
  while (block && !is_wanted(*block)) before = std::exchange(block, block->next);
  if (!block) return nullptr;
  (before ? before->next : first_pending_) = block->next;
  if (last_pending_ == block) last_pending_ = before;
  block->next = nullptr;
  return block;
}

void PinnedBlocks::clear() noexcept {
  newest_.clear();
  blocks_.clear();
  first_pending_ = last_pending_ = nullptr;
}

}  // namespace vramscope
