// The judge of the allocator on pinned memory that is cut into blocks: see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostShared = 2 << 20;  // segments that small blocks share

std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Outcome NaiveModel::allocate_part(const Request& request) {
  Outcome outcome;
  outcome.requested = request.bytes;
  outcome.tag = request.tag;
  outcome.where = request.where;
  open(request.where);
  complete_pending(request.where, false);
  const std::uint64_t rounded = in_pages(request.bytes);
  outcome.source = Source::hit;
  Spot spot = pinned_fit(request.where, rounded);
  if (spot.found) {
    const Address address = segments_[spot.segment].blocks[spot.block].address;
    hand_out_part(spot, rounded, request);
    const Proof proof = prove(request.where, address, outcome.status);
    if (proof == Proof::refused) outcome.source = Source::none;
    if (proof == Proof::refused) return outcome;
    spot.found = proof == Proof::given;
  }
  if (!spot.found) {
    outcome.status = pin_segment(request.where, rounded, outcome);
    if (!outcome.status.ok()) return outcome;
    spot = {segments_.size() - 1, 0, true};
    hand_out_part(spot, rounded, request);
  }
  const ModelBlock& block = segments_[spot.segment].blocks[spot.block];
  outcome.address = block.address;
  outcome.rounded = block.size;
  return outcome;
}

template <class Wanted>
std::uint64_t NaiveModel::pinned_bytes(Wanted wanted) const {
  std::uint64_t bytes = 0;
  for (const ModelSegment& segment : segments_) {
    if (segment.place.kind != Kind::pinned || segment.is_direct) continue;
    for (const ModelBlock& block : segment.blocks) bytes += wanted(segment, block) ? block.size : 0;
  }
  return bytes;
}

// Until a quarter of the host's memory is pinned.
bool NaiveModel::may_cut_pinned(Place where) const {
  const auto all = [](const ModelSegment&, const ModelBlock&) { return true; };
  return pinned_bytes(all) <= backend_.total_bytes(where) / 4;
}

// Where none may be cut, one without a live block serves if it is at most a sixteenth larger than
// it had to be; what is cut already may be cut on.
NaiveModel::Spot NaiveModel::pinned_fit(Place where, std::uint64_t rounded) const {
  Spot spot = best_fit(where, is_small_to_model(rounded), rounded);
  if (!spot.found || is_small_to_model(rounded) || may_cut_pinned(where)) return spot;
  const ModelSegment& segment = segments_[spot.segment];
  const std::uint64_t size = segment.blocks[spot.block].size;
  if (segment.blocks.size() == 1 && size - rounded > size / 16) spot.found = false;
  return spot;
}

void NaiveModel::hand_out_part(Spot spot, std::uint64_t rounded, const Request& request) {
  ModelSegment& segment = segments_[spot.segment];
  const bool is_part = segment.blocks.size() > 1;
  ModelBlock block = segment.blocks[spot.block];
  const bool cuts = segment.is_small || is_part || may_cut_pinned(request.where);
  if (cuts && block.size > rounded) {
    ModelBlock rest = block;
    rest.freed_at = pinned_misses_;
    rest.address += rounded;
    rest.size -= rounded;
    block.size = rounded;
    segment.blocks.insert(segment.blocks.begin() + static_cast<std::ptrdiff_t>(spot.block) + 1,
                          rest);
  }
  block.requested = request.bytes;
  block.tag = request.tag;
  block.state = BlockState::active_allocated;
  segment.blocks[spot.block] = block;
  const auto held = [](const ModelSegment&, const ModelBlock& b) { return !b.is_free(); };
  most_pinned_ = std::max(most_pinned_, pinned_bytes(held));
  count_host({"allocated", "allocated_bytes", "active_requests", "active_bytes"}, block, +1);
  count_request(request.where, block, +1);
}

// Small blocks share segments that are as large as all such of the place together, up to 2 MiB; a
// large one has its own. Refused, everything idle on the host goes back; at last the least.
Status NaiveModel::pin_segment(Place where, std::uint64_t rounded, Outcome& outcome) {
  const bool is_small = is_small_to_model(rounded);
  ++pinned_misses_;
  const auto shared = [&](const ModelSegment& s, const ModelBlock&) {
    return s.is_small && s.place == where;
  };
  const std::uint64_t bytes =
      is_small ? std::max(rounded, std::min(kMostShared, pinned_bytes(shared))) : rounded;
  make_room_for_pinned(rounded, bytes);
  outcome.source = Source::new_segment;
  Status status = add_pinned_segment(where, is_small, bytes);
  if (status.result == Result::out_of_memory && backend_.may_wait(where)) {
    outcome.source = Source::after_trim;
    for (const std::optional<Place>& place : std::vector(open_pinned_)) {
      if (place) release_pinned(*place);
    }
    status = add_pinned_segment(where, is_small, bytes);
  }
  if (status.result == Result::out_of_memory && rounded < bytes) {
    status = add_pinned_segment(where, is_small, rounded);
  }
  if (!status.ok()) outcome.source = Source::none;
  return status;
}

Status NaiveModel::add_pinned_segment(Place where, bool is_small, std::uint64_t bytes) {
  const Grant grant = backend_.reserve(where, bytes);
  if (!grant.status.ok()) return grant.status;
  const ModelBlock whole{.address = grant.address, .size = bytes, .freed_at = pinned_misses_};
  segments_.push_back({where, grant.address, bytes, is_small, false, {whole}});
  count_host({"segment", "reserved_bytes"}, whole, +1);
  ++num_host_alloc_;
  return {};
}

// What has been idle for longest goes back, until what is pinned exceeds the most that was ever in
// use at once by no more than a sixteenth, or 2 MiB.
void NaiveModel::make_room_for_pinned(std::uint64_t rounded, std::uint64_t bytes) {
  const auto all = [](const ModelSegment&, const ModelBlock&) { return true; };
  const auto held = [](const ModelSegment&, const ModelBlock& b) { return !b.is_free(); };
  const std::uint64_t most = std::max(most_pinned_, pinned_bytes(held) + rounded);
  Status status;
  while (pinned_bytes(all) + bytes > most + std::max(most / 16, kMostShared)) {
    const ModelSegment* oldest = nullptr;
    const std::vector<ModelSegment> sorted = segments();
    for (const ModelSegment& segment : sorted) {
      if (segment.place.kind != Kind::pinned || !segment.is_idle()) continue;
      if (!oldest || segment.blocks[0].freed_at < oldest->blocks[0].freed_at) oldest = &segment;
    }
    if (!oldest || !release_segment(oldest->address, status)) return;
  }
}

// A block that has just become free, with its free neighbours.
std::size_t NaiveModel::merge_pinned(Spot spot) {
  std::vector<ModelBlock>& blocks = segments_[spot.segment].blocks;
  std::size_t b = spot.block;
  const auto swallow_next = [&](std::size_t i) {
    blocks[i].size += blocks[i + 1].size;
    blocks[i].number = std::max(blocks[i].number, blocks[i + 1].number);
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  };
  if (b + 1 < blocks.size() && blocks[b + 1].is_free()) swallow_next(b);
  if (b > 0 && blocks[b - 1].is_free()) {
    blocks[b - 1].requested = blocks[b].requested;
    swallow_next(--b);
  }
  blocks[b].freed_at = pinned_misses_;
  return b;
}

// What is too large to keep goes back once nothing in it is in use.
void NaiveModel::settle_part(Address address) {
  for (const ModelSegment& segment : segments()) {
    const bool is_there = segment.place.kind == Kind::pinned && address >= segment.address &&
                          address - segment.address < segment.size;
    if (!is_there || !segment.is_idle() || segment.size <= limits_.pinned_max_cached_size) continue;
    Status unused;
    release_segment(segment.address, unused);
  }
}

}  // namespace vramscope
