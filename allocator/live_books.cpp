// SPDX-License-Identifier: Apache-2.0
#include "allocator/live_books.h"

#include "allocator/base/fault.h"
#include "allocator/base/live_layout.h"
#include "allocator/base/publish.h"
#include "allocator/base/size_policy.h"

namespace vramscope {

const std::uint64_t LiveBooks::kLayout =
    live_layout({sizeof(Block), sizeof(BlockLife), sizeof(ListedSegment), sizeof(Accounts),
                 sizeof(DeviceCounters), sizeof(Ledger), sizeof(Ledger::Account),
                 sizeof(Ledger::Holding), sizeof(DevicePeaks::AtPeak), sizeof(Timeline),
                 sizeof(History), sizeof(BirthTimes), sizeof(LiveHeader)});

ListedSegment ListedSegments::record_of(const DedicatedBlock& block) {
  const std::uint32_t exported = block.exported ? ListedSegment::kExported : 0U;
  const auto state = static_cast<std::uint32_t>(block.state) << ListedSegment::kStateShift;
  return {.place = block.where,
          .address = block.address,
          .bytes = block.bytes,
          .requested = block.requested,
          .serial = block.serial,
          .tag = block.tag,
          .what = what_of(ListedSegment::Sort::alone, block.pool) | exported | state};
}

ListedSegments::Slot ListedSegments::add(Address address, const DirectBlock& block) noexcept {
  return enter({.place = block.where,
                .address = address,
                .bytes = block.bytes,
                .requested = block.bytes,
                .serial = block.serial,
                .tag = block.tag,
                .what = what_of(ListedSegment::Sort::direct, pool_class(block.bytes))});
}

ListedSegments::Slot ListedSegments::enter(const ListedSegment& segment) noexcept {
  Slot slot = spare_;
  if (slot != 0) {
    spare_ = records_[slot].first;
  } else {
    slot = ++top_;
  }
  change(slot, segment);
  return slot;
}

void ListedSegments::keep(Slot slot) noexcept {
  if (fault(Fault::segment_uncopied)) return;
  copies_.each([slot](Copy& copy) { copy.records.keep(slot); });
}

// In a visible record only fields may change whose value does not matter before the store to
// `what`.
void ListedSegments::change(Slot slot, const ListedSegment& segment) noexcept {
  keep(slot);
  ListedSegment& record = records_[slot];
  record.place = segment.place;
  record.address = segment.address;
  record.bytes = segment.bytes;
  record.requested = segment.requested;
  record.serial = segment.serial;
  record.tag = segment.tag;
  if (segment.sort() != ListedSegment::Sort::alone) record.first = segment.first;
  publish_all(record.what, segment.what);
}

void ListedSegments::leave(Slot slot) noexcept {
  keep(slot);
  publish_all(records_[slot].what, 0U);
  records_[slot].first = spare_;
  spare_ = slot;
}

void ListedSegments::set(Slot slot, std::uint32_t what) noexcept {
  keep(slot);
  publish_all(records_[slot].what, what);
}

void publish_books(LiveMemory* live, const Accounts& accounts) noexcept {
  if (live == nullptr || !live->is_live()) return;
  const LiveBooks* books = live->make<LiveBooks>(LiveBooks{LiveBooks::kLayout, &accounts});
  live->header()->allocator.store(books, std::memory_order_release);
}

}  // namespace vramscope
