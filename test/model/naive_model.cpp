// The judge of the allocator: see naive_model.h. Slow on purpose; every rule is one short function.
// SPDX-License-Identifier: Apache-2.0
#include "test/model/naive_model.h"

#include <algorithm>
#include <utility>

#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

// Sizes of PyTorch's policy.
constexpr std::uint64_t kRounding = 512;             // every block is a multiple
constexpr std::uint64_t kSmallest = 512;             // remainder worth keeping in the small pool
constexpr std::uint64_t kSmallSegment = 2 << 20;     // what the small pool asks the driver for
constexpr std::uint64_t kOwnSegment = 10 << 20;      // from here on a request gets its own segment
constexpr std::uint64_t kSegmentRounding = 2 << 20;  // ... of a multiple of this
constexpr std::uint64_t kRefused = 1ull << 60;       // nobody has that much

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

std::uint64_t segment_size(std::uint64_t rounded, const Limits& limits) {
  if (is_small_to_model(rounded)) return kSmallSegment;
  if (limits.policy == Policy::native_safe) return rounded;
  if (rounded < kOwnSegment) return limits.large_segment_size;  // shared
  return round_up(rounded, kSegmentRounding);
}

}  // namespace

Outcome NaiveModel::allocate(const Request& request) {
  Outcome outcome;
  outcome.requested = request.bytes;
  outcome.tag = request.tag;
  outcome.where = request.where;
  if (request.bytes >= kRefused) {
    outcome.status.result = Result::out_of_memory;
    return outcome;
  }
  if (request.where.kind == Kind::pinned) return allocate_pinned(request);
  give_way(request.where);
  open(request.where);
  devices_[request.where.device];
  const bool was_pending = complete_pending(request.where, request.dedicated);
  if (was_pending && !request.dedicated) shed(request.where);
  if (request.dedicated) return allocate_whole(request);
  const std::uint64_t rounded = rounded_size(request.bytes);
  const bool is_small = is_small_to_model(rounded);
  const ModelSegment pool{request.where, 0, 0, is_small, false, {}};
  if (collects_garbage()) ++searches(pool);
  Spot spot = best_fit(request.where, is_small, rounded);
  if (spot.found) {
    spot.found = may_serve(segments_[spot.segment].blocks[spot.block].size, rounded);
  }
  outcome.source = Source::hit;
  if (spot.found) {
    const Address address = segments_[spot.segment].blocks[spot.block].address;
    hand_out(spot, rounded, request);
    const Proof proof = prove(request.where, address, outcome.status);
    if (proof == Proof::refused) outcome.source = Source::none;
    if (proof == Proof::refused) return outcome;
    spot.found = proof == Proof::given;
  }
  if (!spot.found) {
    for (const bool either : {false, true}) {
      if (is_native()) ++searches({request.where, 0, 0, either, false, {}});
    }
    outcome.status = climb(request.where, rounded, outcome);
    if (!outcome.status.ok()) return outcome;
    spot = {segments_.size() - 1, 0, true};
    hand_out(spot, rounded, request);
  }

  const ModelBlock& block = segments_[spot.segment].blocks[spot.block];
  outcome.address = block.address;
  outcome.rounded = block.size;
  return outcome;
}

void NaiveModel::open(Place where) {
  std::vector<std::optional<Place>>& open = where.kind == Kind::pinned ? open_pinned_ : open_;
  if (std::find(open.begin(), open.end(), where) != open.end()) return;
  const auto unused = std::find(open.begin(), open.end(), std::nullopt);
  unused == open.end() ? open.push_back(where) : void(*unused = where);
}

// What the policy does not know stays as it is by default.
void NaiveModel::set_limits(Limits limits) {
  limits_ = limits;
  limits_.policy = limits_at_start_.policy;
  if (!is_native()) return;
  const Limits defaults;
  limits_.max_split_size = defaults.max_split_size;
  limits_.max_non_split_rounding = defaults.max_non_split_rounding;
  limits_.large_segment_size = defaults.large_segment_size;
  limits_.pinned_max_round_threshold = defaults.pinned_max_round_threshold;
  limits_.roundup_power2_divisions = defaults.roundup_power2_divisions;
  limits_.exact_fallback = true;
}

// The next of the steps into which the neighbouring powers of two divide their distance.
std::uint64_t NaiveModel::rounded_size(std::uint64_t bytes) const {
  std::size_t interval = 0;  // [1 MiB, 2 MiB) and all below
  while (interval < 15 && bytes >> (21 + interval) != 0) ++interval;
  const std::uint64_t divisions = limits_.roundup_power2_divisions[interval];
  if (divisions <= 1 || bytes <= kSmallest * divisions) {
    const std::uint64_t rounded = std::max(kSmallest, round_up(bytes, kRounding));
    const bool has_class = is_native() && !is_small_to_model(rounded);
    return has_class ? round_up(rounded, kSegmentRounding) : rounded;
  }
  std::uint64_t power = 1;
  while (power * 2 <= bytes) power *= 2;
  return round_up(bytes, power / divisions);
}

bool NaiveModel::may_serve(std::uint64_t block, std::uint64_t size) const {
  if (is_native()) return is_small_to_model(size) || block == size;
  if (size < limits_.max_split_size && block >= limits_.max_split_size) return false;
  return size < limits_.max_split_size || block - size < limits_.max_non_split_rounding;
}

bool NaiveModel::collects_garbage() const {
  return limits_.memory_fraction >= 0 && limits_.garbage_collection_threshold > 0;
}

std::uint64_t& NaiveModel::searches(const ModelSegment& segment) {
  const Place where = segment.place;
  return searches_[{where.kind, where.device, where.context, segment.is_small}];
}

// Smallest free block of the place and pool that is large enough; the lowest address among equals.
NaiveModel::Spot NaiveModel::best_fit(Place where, bool is_small, std::uint64_t size) const {
  Spot best;
  auto key = [this](Spot s) {
    const ModelBlock& block = segments_[s.segment].blocks[s.block];
    return std::make_pair(block.size, block.address);
  };
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const ModelSegment& segment = segments_[s];
    if (segment.place != where || segment.is_small != is_small || segment.is_direct) continue;
    if (segment.is_whole) continue;
    for (std::size_t b = 0; b < segment.blocks.size(); ++b) {
      if (!segment.blocks[b].is_free() || segment.blocks[b].size < size) continue;
      const Spot here{s, b, true};
      if (!best.found || key(here) < key(best)) best = here;
    }
  }
  return best;
}

// The out-of-memory ladder: ask; give oversize blocks back and ask again; give everything idle back
// and ask again; ask for the least. The free lists are not searched again. The new segment is the
// last one.
Status NaiveModel::climb(Place where, std::uint64_t rounded, Outcome& outcome) {
  const bool is_small = is_small_to_model(rounded);
  const std::uint64_t bytes = segment_size(rounded, limits_);
  if (collects_garbage()) collect_garbage(where);
  if (is_over_limit(where, bytes)) {
    ++devices_[where.device].counts["num_oom_rejections"];
    outcome.source = Source::none;
    return {Result::out_of_memory, 0};
  }
  outcome.source = Source::new_segment;
  Status status = add_segment(where, is_small, bytes);
  std::int32_t code = status.code;
  const auto again = [&](std::uint64_t size) {
    status = add_segment(where, is_small, size);
    if (status.code != 0) code = status.code;
  };
  if (status.result == Result::out_of_memory && release_oversize(where, is_small, rounded)) {
    outcome.source = Source::after_trim;
    again(bytes);
  }
  if (status.result == Result::out_of_memory && full_release(where.device)) {
    ++devices_[where.device].counts["num_alloc_retries"];
    outcome.source = Source::after_trim;
    again(bytes);
  }
  const std::uint64_t exact = round_up(rounded, kSegmentRounding);
  if (status.result == Result::out_of_memory && limits_.exact_fallback && exact < bytes) {
    again(exact);
  }
  if (!status.ok()) outcome.source = Source::none;
  // A limit has no code of its own: the driver's, when it refused before, is the answer.
  if (status.result == Result::out_of_memory && status.code == 0) status.code = code;
  if (status.result == Result::out_of_memory) ++devices_[where.device].counts["num_ooms"];
  return status;
}

// What throw_on_cudamalloc_oom refuses.
bool NaiveModel::is_over_limit(Place where, std::uint64_t bytes) const {
  const double fraction = limits_.memory_fraction < 0 ? 1 : limits_.memory_fraction;
  if (!limits_.throw_on_cudamalloc_oom) return false;
  return own_bytes(where.device) + bytes > share(where, fraction);
}

// One attempt: the limit first (no backend call when it forbids), then the backend.
Status NaiveModel::add_segment(Place where, bool is_small, std::uint64_t bytes) {
  const bool is_limited = limits_.memory_fraction >= 0;
  if (is_limited && own_bytes(where.device) + bytes > share(where, limits_.memory_fraction)) {
    return {Result::out_of_memory, 0};
  }
  const Grant grant = backend_.reserve(where, bytes);
  if (!grant.status.ok()) return grant.status;

  const ModelBlock whole{.address = grant.address, .size = bytes};
  const ModelSegment segment{where, grant.address, bytes, is_small, false, {whole}};
  count_segment(segment, +1);
  segments_.push_back(segment);
  return {};
}

// The lower part of the free block goes out; a remainder worth keeping stays free.
void NaiveModel::hand_out(Spot spot, std::uint64_t rounded, const Request& request) {
  ModelSegment& segment = segments_[spot.segment];
  ModelDevice& device = devices_[segment.place.device];
  const bool was_split = segment.blocks.size() > 1;
  ModelBlock block = segment.blocks[spot.block];
  const std::uint64_t rest = block.size - rounded;
  const bool may_cut = rest > kModelSmallLimit && rounded < limits_.max_split_size;
  if (segment.is_small ? rest >= kSmallest : may_cut) {
    ModelBlock remainder = block;
    remainder.freed_at = searches(segment);
    remainder.address += rounded;
    remainder.size = rest;
    segment.blocks.insert(segment.blocks.begin() + static_cast<std::ptrdiff_t>(spot.block) + 1,
                          remainder);
    block.size = rounded;
    if (!was_split) device.add("inactive_split", segment.is_small, +1);
    device.add("inactive_split_bytes", segment.is_small,
               was_split ? -as_signed(rounded) : as_signed(rest));
  } else if (was_split) {
    device.add("inactive_split", segment.is_small, -1);
    device.add("inactive_split_bytes", segment.is_small, -as_signed(block.size));
  }

  block.requested = request.bytes;
  block.tag = request.tag;
  block.state = BlockState::active_allocated;
  segment.blocks[spot.block] = block;
  device.add("allocation", segment.is_small, +1);
  device.add("allocated_bytes", segment.is_small, as_signed(block.size));
  device.add_block(block, segment.is_small, +1);
  count_oversize("oversize_allocations", segment.place, block.size, +1);
  count_request(request.where, block, +1);
}

NaiveModel::Spot NaiveModel::start_of_live_block(Address address) const {
  return block_at(address, BlockState::active_allocated);
}

NaiveModel::Spot NaiveModel::block_at(Address address, BlockState state) const {
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    for (std::size_t b = 0; b < segments_[s].blocks.size(); ++b) {
      const ModelBlock& block = segments_[s].blocks[b];
      if (block.address == address && block.state == state) {
        return {s, b, true};
      }
    }
  }
  return {};
}

Outcome NaiveModel::free(Address address) {
  const Spot spot = start_of_live_block(address);
  if (!spot.found || segments_[spot.segment].is_direct) {
    return model_refusal({Result::invalid, 0});
  }
  const Place where = segments_[spot.segment].place;
  const bool is_whole = segments_[spot.segment].is_whole;
  const bool may_wait = backend_.may_wait(where);
  if (may_wait) {
    const bool goes_back = segments_[spot.segment].is_exported;
    const Reply reply = !waits_at_reuse() ? backend_.wait(where)
                        : goes_back       ? backend_.probe(where)
                                          : Reply{};
    if (!reply.status.ok()) return model_refusal(reply.status);
    finish_pending(where, is_whole);
  }

  const Spot now = start_of_live_block(address);  // merging the pending ones moved indices
  const ModelSegment& segment = segments_[now.segment];
  Outcome outcome = model_outcome(segment, segment.blocks[now.block]);
  begin_free(now);
  if (may_wait) complete_free(now);
  if (may_wait) outcome.status = settle(address);
  if (where.kind == Kind::device) shed(where);
  return outcome;
}

void NaiveModel::begin_free(Spot spot) {
  const ModelSegment& segment = segments_[spot.segment];
  ModelBlock& block = segments_[spot.segment].blocks[spot.block];
  if (segment.place.kind == Kind::pinned) {
    count_host({"allocated", "allocated_bytes"}, block, -1);
  } else {
    ModelDevice& device = devices_[segment.place.device];
    device.add("allocation", segment.is_small, -1);
    device.add("allocated_bytes", segment.is_small, -as_signed(block.size));
    count_oversize("oversize_allocations", segment.place, block.size, -1);
  }
  ++kinds_[{segment.place.kind, segment.place.device}].frees;
  block.state = BlockState::active_pending_free;
  pending_.push_back(block.address);
}

// The block of a pending free returns to the free list and merges with both free neighbours; what
// changes about inactive splits is summed first and counted once. Tells its index afterwards.
std::size_t NaiveModel::complete_free(Spot spot) {
  return put_back(spot, waits_at_reuse() ? ++frees_ : 0);
}

// With the number of its last free.
std::size_t NaiveModel::put_back(Spot spot, std::uint64_t number) {
  ModelSegment& segment = segments_[spot.segment];
  std::vector<ModelBlock>& blocks = segment.blocks;
  const auto at = [&](std::size_t i) { return blocks.begin() + static_cast<std::ptrdiff_t>(i); };
  const ModelBlock block = blocks[spot.block];
  std::erase(pending_, block.address);
  count_request(segment.place, block, -1);
  blocks[spot.block].state = BlockState::inactive;
  blocks[spot.block].tag = 0;
  blocks[spot.block].number = number;
  if (segment.place.kind == Kind::pinned) {
    count_host({"active_requests", "active_bytes"}, block, -1);
    if (is_native()) return merge_pinned(spot);
    freed_pinned_.push_back(block.address);
    return 0;
  }
  ModelDevice& device = devices_[segment.place.device];
  device.add_block(block, segment.is_small, -1);
  if (segment.is_whole) freed_whole_.push_back(block.address);

  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::size_t b = spot.block;
  if (b + 1 < blocks.size() && blocks[b + 1].is_free()) {
    --count;
    bytes -= as_signed(blocks[b + 1].size);
    blocks[b].size += blocks[b + 1].size;
    blocks[b].number = std::max(blocks[b].number, blocks[b + 1].number);
    blocks.erase(at(b + 1));
  }
  if (b > 0 && blocks[b - 1].is_free()) {
    --count;
    bytes -= as_signed(blocks[b - 1].size);
    blocks[b].address = blocks[b - 1].address;
    blocks[b].size += blocks[b - 1].size;
    blocks[b].number = std::max(blocks[b].number, blocks[b - 1].number);
    blocks.erase(at(b - 1));
    --b;
  }
  blocks[b].freed_at = searches(segment);
  if (blocks.size() > 1) {
    ++count;
    bytes += as_signed(blocks[b].size);
  }
  device.add("inactive_split", segment.is_small, count);
  device.add("inactive_split_bytes", segment.is_small, bytes);
  return b;
}

// Frees that a capture had put off need a wait that succeeds. Those of dedicated segments and of
// others are completed apart.
// Whether there were any, whatever became of them.
bool NaiveModel::complete_pending(Place where, bool is_whole) {
  for (const ModelSegment& segment : segments_) {
    for (const ModelBlock& block : segment.blocks) {
      if (segment.place != where || block.state != BlockState::active_pending_free) continue;
      if (segment.is_whole != is_whole) continue;
      if (!backend_.may_wait(where)) return true;
      const bool has_waited = waits_at_reuse() || backend_.wait(where).status.ok();
      if (has_waited) finish_pending(where, is_whole);
      return true;
    }
  }
  return false;
}

// In the order of their frees.
void NaiveModel::finish_pending(Place where, bool is_whole) {
  const std::vector<Address> waiting = pending_;
  for (const Address address : waiting) {
    const Spot spot = block_at(address, BlockState::active_pending_free);
    const ModelSegment& segment = segments_[spot.segment];
    if (segment.place != where || segment.is_whole != is_whole) continue;
    complete_free(spot);
    settle(address);
  }
}

}  // namespace vramscope
