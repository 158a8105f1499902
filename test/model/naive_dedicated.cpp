// The judge of the allocator on dedicated segments: see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {

Outcome NaiveModel::allocate_whole(const Request& request) {
  Outcome outcome;
  outcome.requested = request.bytes;
  outcome.tag = request.tag;
  outcome.where = request.where;
  outcome.source = Source::hit;
  Spot spot = first_freed_whole(request.where, request.bytes);
  if (spot.found) {
    const Address address = segments_[spot.segment].address;
    std::erase(freed_whole_, address);
    hand_out(spot, request.bytes, request);
    const Proof proof = prove(request.where, address, outcome.status);
    if (proof == Proof::refused) outcome.source = Source::none;
    if (proof == Proof::refused) return outcome;
    spot.found = proof == Proof::given;
  }
  if (!spot.found) {
    outcome.status = add_whole(request, outcome);
    if (!outcome.status.ok()) return outcome;
    spot = {segments_.size() - 1, 0, true};
    segments_.back().is_whole = true;
    hand_out(spot, request.bytes, request);
  }
  const ModelBlock& block = segments_[spot.segment].blocks[0];
  outcome.address = block.address;
  outcome.rounded = block.size;
  return outcome;
}

NaiveModel::Spot NaiveModel::first_freed_whole(Place where, std::uint64_t bytes) const {
  for (const Address address : freed_whole_) {
    const Spot spot = block_at(address, BlockState::inactive);
    const ModelSegment& segment = segments_[spot.segment];
    const bool is_usable = segment.place == where && !segment.is_exported;
    if (is_usable && segment.size == bytes) return spot;
  }
  return {};
}

// The ladder for a segment that has one size only: ask; give everything idle back and ask again.
Status NaiveModel::add_whole(const Request& request, Outcome& outcome) {
  const Place where = request.where;
  const bool is_small = is_small_to_model(request.bytes);
  std::map<std::string, std::int64_t>& counts = devices_[where.device].counts;
  if (collects_garbage()) collect_garbage(where);
  if (is_over_limit(where, request.bytes)) {
    ++counts["num_oom_rejections"];
    outcome.source = Source::none;
    return {Result::out_of_memory, 0};
  }
  outcome.source = Source::new_segment;
  Status status = add_segment(where, is_small, request.bytes);
  if (status.result == Result::out_of_memory && full_release(where.device)) {
    const std::int32_t code = status.code;
    ++counts["num_alloc_retries"];
    outcome.source = Source::after_trim;
    status = add_segment(where, is_small, request.bytes);
    if (status.result == Result::out_of_memory && status.code == 0) status.code = code;
  }
  if (status.result == Result::out_of_memory) ++counts["num_ooms"];
  if (!status.ok()) outcome.source = Source::none;
  return status;
}

// A live block that is its whole segment keeps it for itself from now on.
bool NaiveModel::note_export(Address address) {
  for (ModelSegment& segment : segments_) {
    const bool is_inside = address >= segment.address && address - segment.address < segment.size;
    if (!is_inside || segment.is_direct || segment.place.kind != Kind::device) continue;
    if (segment.blocks.size() != 1) return false;
    if (segment.blocks[0].state != BlockState::active_allocated) return false;
    segment.is_whole = true;
    segment.is_exported = true;
    return true;
  }
  return false;
}

}  // namespace vramscope
