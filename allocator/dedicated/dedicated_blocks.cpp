// SPDX-License-Identifier: Apache-2.0
#include "allocator/dedicated/dedicated_blocks.h"

#include <bit>
#include <iterator>
#include <new>
#include <utility>

namespace vramscope {

DedicatedBlocks::Key DedicatedBlocks::key_of(Place where, std::uint64_t bytes) {
  return {where.context, where.kind == Kind::pinned ? std::bit_ceil(bytes) : bytes};
}

DedicatedBlock* DedicatedBlocks::add(Place where, Address address, std::uint64_t bytes) noexcept
    try {
  if (address == 0 || address > ~Address{0} - bytes || overlaps(address, bytes)) return nullptr;
  Bucket& bucket = buckets_[key_of(where, bytes)];
  DedicatedBlock& block = blocks_[address];
  ++bucket.blocks;
  block.where = where;
  block.address = address;
  block.bytes = bytes;
  return &block;
} catch (const std::bad_alloc&) {
  return nullptr;  // at most an empty bucket stays behind
}

void DedicatedBlocks::remove(DedicatedBlock& block) noexcept { destroy(set_aside(block)); }

DedicatedBlocks::Node DedicatedBlocks::set_aside(DedicatedBlock& block) noexcept {
  return blocks_.extract(blocks_.find(block.address));
}

void DedicatedBlocks::destroy(Node node) noexcept {
  const DedicatedBlock& block = node.mapped();
  const auto bucket = buckets_.find(key_of(block.where, block.bytes));
  if (--bucket->second.blocks == 0) buckets_.erase(bucket);
}

bool DedicatedBlocks::restore(Node& node) noexcept {
  DedicatedBlock& block = node.mapped();
  if (overlaps(block.address, block.bytes)) return false;
  put_first(buckets_.find(key_of(block.where, block.bytes))->second, block);
  blocks_.insert(std::move(node));
  return true;
}

DedicatedBlock* DedicatedBlocks::take(Place where, std::uint64_t bytes) noexcept {
  const auto bucket = buckets_.find(key_of(where, bytes));
  if (bucket == buckets_.end()) return nullptr;
  return take_first(bucket->second, [=](const DedicatedBlock& block) {
    return block.bytes >= bytes && !block.exported;
  });
}

DedicatedBlock* DedicatedBlocks::take_any(Place where) noexcept {
  for (auto it = buckets_.lower_bound({where.context, 0});
       it != buckets_.end() && it->first.first == where.context; ++it) {
    const auto any = [](const DedicatedBlock&) { return true; };
    if (DedicatedBlock* block = take_first(it->second, any)) return block;
  }
  return nullptr;
}

// Only pinned sizes that were not rounded, and exported segments that could not go back, need a
// second look.
template <class Wanted>
DedicatedBlock* DedicatedBlocks::take_first(Bucket& bucket, Wanted wanted) noexcept {
  DedicatedBlock* before = nullptr;
  DedicatedBlock* block = bucket.first;
  while (block && !wanted(*block)) before = std::exchange(block, block->next);
  if (!block) return nullptr;
  (before ? before->next : bucket.first) = block->next;
  if (bucket.last == block) bucket.last = before;
  block->next = nullptr;
  idle_[block->where.device] -= block->bytes;
  return block;
}

void DedicatedBlocks::put(DedicatedBlock& block) noexcept {
  Bucket& bucket = buckets_.find(key_of(block.where, block.bytes))->second;
  if (block.where.kind == Kind::pinned || !bucket.first) return put_first(bucket, block);
  idle_[block.where.device] += block.bytes;
  block.next = nullptr;
  bucket.last->next = &block;
  bucket.last = &block;
}

void DedicatedBlocks::put_first(Bucket& bucket, DedicatedBlock& block) noexcept {
  idle_[block.where.device] += block.bytes;
  block.next = std::exchange(bucket.first, &block);
  if (!bucket.last) bucket.last = &block;
}

DedicatedBlock* DedicatedBlocks::find(Address address) noexcept {
  const auto it = blocks_.find(address);
  return it == blocks_.end() ? nullptr : &it->second;
}

DedicatedBlock* DedicatedBlocks::find_around(Address address) noexcept {
  const auto above = blocks_.upper_bound(address);
  if (above == blocks_.begin()) return nullptr;
  DedicatedBlock& block = std::prev(above)->second;
  return address - block.address < block.bytes ? &block : nullptr;
}

const DedicatedBlock* DedicatedBlocks::find_around(Address address) const noexcept {
  return const_cast<DedicatedBlocks*>(this)->find_around(address);
}

bool DedicatedBlocks::overlaps(Address address, std::uint64_t bytes) const noexcept {
  const auto above = blocks_.lower_bound(address);
  return (above != blocks_.end() && above->first < address + bytes) || find_around(address);
}

// In order of address, only neighbours share a granule.
std::uint64_t DedicatedBlocks::idle_granules(std::uint16_t device, Pending pending) const noexcept {
  std::uint64_t idle = 0;
  Address shared = ~Address{0};  // granule in which the previous block ended
  bool is_idle = false;
  for (const auto& [address, block] : blocks_) {
    if (block.where.device != device) continue;
    const bool is_free =
        block.state == BlockState::inactive || (pending == Pending::free && !block.is_live());
    const Address first = address / kGranularity;
    const Address last = (address + block.bytes - 1) / kGranularity;
    if (first != shared) idle += is_idle;
    is_idle = is_free && (first != shared || is_idle);
    shared = first;
    if (last == first) continue;
    idle += is_idle + (is_free ? last - first - 1 : 0);
    is_idle = is_free;
    shared = last;
  }
  return idle + is_idle;
}

}  // namespace vramscope
