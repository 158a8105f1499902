// Lists segments from their records and blocks from their chains.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/listing.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace vramscope {
namespace {

using Sort = ListedSegment::Sort;

[[noreturn]] void refuse(const std::string& what, Address address) {
  throw std::runtime_error("its " + what + " at " + std::to_string(address) + " is damaged");
}

class Reader {
 public:
  Reader(const ListedRecords& records, const BirthTimes& born) : records_(records), born_(born) {}

  void read(Snapshot& out) {
    std::vector<ListedSegment> visible;
    for (std::size_t i = 1; i < records_.segments.count; ++i) {
      if (records_.segments[i].is_visible()) visible.push_back(records_.segments[i]);
    }
    std::sort(visible.begin(), visible.end(), [](const ListedSegment& a, const ListedSegment& b) {
      return std::tie(a.place.kind, a.place.device, a.address) <
             std::tie(b.place.kind, b.place.device, b.address);
    });
    for (const ListedSegment& segment : visible) read(segment, out);
  }

 private:
  void read(const ListedSegment& segment, Snapshot& out) {
    const Sort sort = segment.sort();
    const auto kind = static_cast<std::size_t>(segment.place.kind);
    const bool is_whole = sort <= Sort::direct && kind < kKinds &&
                          segment.place.device < kMaxDevices &&
                          segment.bytes <= ~Address{0} - segment.address;
    if (!is_whole) refuse("segment", segment.address);
    if (sort == Sort::reservation) return read_chain(records_.pools, segment, out);
    begin(segment, segment.address, out);
    if (sort == Sort::pool) return read_chain(records_.pools, segment, out);
    if (sort == Sort::pinned) return read_chain(records_.pinned, segment, out);
    const BlockState state = sort == Sort::alone ? segment.state() : BlockState::active_allocated;
    const bool is_free = state == BlockState::inactive;
    add({.address = segment.address,
         .size = segment.bytes,
         .requested_size = segment.requested,
         .tag = is_free ? Tag{0} : segment.tag,
         .state = state},
        segment.serial, out);
  }

  static void begin(const ListedSegment& segment, Address address, Snapshot& out) {
    const Sort sort = segment.sort();
    out.segments.push_back(
        {.place = segment.place,
         .address = address,
         .total_size = 0,
         .is_small = segment.is_small(),
         .is_expandable = sort == Sort::reservation,
         .is_direct = sort == Sort::direct,
         .is_dedicated = sort == Sort::alone && segment.place.kind == Kind::device,
         .is_exported = segment.is_exported(),
         .first_block = static_cast<std::uint32_t>(out.blocks.size())});
  }

  void add(const BlockSnapshot& block, std::uint64_t serial, Snapshot& out) {
    SegmentSnapshot& segment = out.segments.back();
    segment.total_size += block.size;
    if (block.state == BlockState::inactive && segment.block_count > 0 &&
        out.blocks.back().state == BlockState::inactive) {
      out.blocks.back().size += block.size;  // a split, a merge or a mapping is unfinished
      return;
    }
    out.blocks.push_back(block);
    ++segment.block_count;
    if (block.state == BlockState::inactive) return;
    segment.active_size += block.size;
    segment.requested_size += block.requested_size;
    if (block.state != BlockState::active_allocated) return;
    segment.allocated_size += block.size;
    out.blocks.back().born_ns = born_.time_of(serial);
    out.blocks.back().born = serial;
  }

  // Addresses must grow along a chain, so that a damaged chain ends.
  void read_chain(const Chains& chains, const ListedSegment& segment, Snapshot& out) {
    const Address end = segment.address + segment.bytes;
    Address address = segment.address;
    bool continues = segment.sort() != Sort::reservation;
    for (BlockIndex i = segment.first; address < end;) {
      if (i == kNoBlock || !chains.blocks.has(i) || !chains.lives.has(i) ||
          chains.blocks[i].address() != address) {
        refuse("block", address);
      }
      const Block& b = chains.blocks[i];
      const Address next = b.next == kNoBlock          ? end
                           : chains.blocks.has(b.next) ? chains.blocks[b.next].address()
                                                       : Address{0};
      if (next <= address || next > end) refuse("block", address);
      if (!continues && !b.is_unbacked()) begin(segment, address, out);
      continues = !b.is_unbacked();
      if (continues) add(described(b, next - address), chains.lives[i].serial(), out);
      address = next;
      i = b.next;
    }
  }

  [[nodiscard]] static BlockSnapshot described(const Block& b, std::uint64_t bytes) {
    const bool is_free = b.is_free() || b.is_aside();
    return {.address = b.address(),
            .size = bytes,
            .requested_size = b.requested,
            .tag = is_free ? Tag{0} : b.tag,
            .state = is_free ? BlockState::inactive : b.state()};
  }

  const ListedRecords& records_;
  const BirthTimes& born_;
};

}  // namespace

void list(const ListedRecords& records, const BirthTimes& born, Snapshot& out) {
  Reader(records, born).read(out);
  out.allocations = born.newest();
}

}  // namespace vramscope
