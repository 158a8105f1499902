// How the judge of the allocator gives segments back, and memory that is not its own: see
// naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

bool is_host(Kind kind) { return kind == Kind::pinned || kind == Kind::registered; }

}  // namespace

void NaiveModel::trim() {
  for (auto& [ordinal, device] : devices_) full_release(ordinal);
}

// Every segment of the device without a live block goes back to the backend. False: no place of
// the device may be touched now, nothing happened.
bool NaiveModel::full_release(std::uint16_t device) {
  bool is_counted = false;
  for (const std::optional<Place>& place : open_) {
    if (!place || place->device != device || !backend_.may_wait(*place)) continue;
    const Place where = *place;
    if (!is_counted) ++devices_[device].counts["num_sync_all_streams"];
    is_counted = true;
    complete_pending(where, false);
    complete_pending(where, true);
    release_idle(where);
  }
  return is_counted;
}

void NaiveModel::release_idle(Place where) {
  for (std::size_t s = 0; s < segments_.size();) {
    if (segments_[s].place == where && segments_[s].is_idle()) {
      release_segment(s);
    } else {
      ++s;
    }
  }
}

Status NaiveModel::release_segment(std::size_t index) {
  const ModelSegment segment = segments_[index];
  const Status status = backend_.release(segment.place, segment.address).status;
  count_segment(segment, -1);
  if (segment.place.kind == Kind::pinned) {
    ++num_host_free_;
    std::erase(freed_pinned_, segment.address);
  } else {
    ++devices_[segment.place.device].counts["num_device_free"];
    if (segment.is_whole) std::erase(freed_whole_, segment.address);
  }
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(index));
  return status;
}

// The smallest oversize segment that is large enough goes; without one the largest, until they are
// enough together.
bool NaiveModel::release_oversize(Place where, bool is_small, std::uint64_t size) {
  if (limits_.max_split_size == Limits::kUnlimited || is_small) return false;
  if (!backend_.may_wait(where)) return false;
  const std::uint64_t target = std::max(size, limits_.max_split_size);
  std::vector<std::pair<std::uint64_t, Address>> idle;
  for (const ModelSegment& segment : segments_) {
    if (segment.place != where || segment.is_small || !segment.is_idle()) continue;
    if (segment.is_whole) continue;
    if (segment.size >= limits_.max_split_size) idle.emplace_back(segment.size, segment.address);
  }
  std::sort(idle.begin(), idle.end());
  std::vector<Address> chosen;
  std::uint64_t sum = 0;
  for (const auto& [bytes, address] : idle) {
    if (bytes < target || sum >= target) continue;
    chosen.push_back(address);
    sum = bytes;
  }
  for (auto it = idle.rbegin(); it != idle.rend() && sum < target; ++it) {
    chosen.push_back(it->second);
    sum += it->first;
  }
  for (const Address address : chosen) {
    const auto has = [&](const ModelSegment& s) { return s.address == address; };
    const auto found = std::find_if(segments_.begin(), segments_.end(), has);
    release_segment(static_cast<std::size_t>(found - segments_.begin()));
  }
  return sum >= target;
}

// Large segments that are idle for at least the mean age go, until what is above the threshold has
// gone.
void NaiveModel::collect_garbage(Place where) {
  const std::uint64_t limit = share(where, limits_.memory_fraction);
  const auto threshold =
      static_cast<std::uint64_t>(limits_.garbage_collection_threshold * static_cast<double>(limit));
  const std::uint64_t before = own_bytes(where.device);
  if (before <= threshold || !backend_.may_wait(where)) return;
  const auto is_candidate = [&](const ModelSegment& segment) {
    if (segment.is_whole) return false;
    return segment.place == where && !segment.is_small && segment.is_idle();
  };
  const auto age = [&](const ModelSegment& segment) {
    return static_cast<double>(searches(segment) - segment.blocks[0].freed_at);
  };
  for (bool has_freed = true; has_freed && own_bytes(where.device) > threshold;) {
    double sum = 0;
    double count = 0;
    for (const ModelSegment& segment : segments_) {
      if (!is_candidate(segment)) continue;
      sum += age(segment);
      ++count;
    }
    has_freed = false;
    for (std::size_t s = 0; count > 0 && s < segments_.size();) {
      const bool is_old = is_candidate(segments_[s]) && age(segments_[s]) >= sum / count;
      has_freed |= is_old;
      if (is_old) {
        release_segment(s);
      } else {
        ++s;
      }
    }
  }
}

Outcome NaiveModel::adopt(Place where, Address address, std::uint64_t bytes, Tag tag) {
  const ModelBlock block{address, bytes, bytes, tag, BlockState::active_allocated};
  const ModelSegment segment{where, address, bytes, is_small_to_model(bytes), true, {block}};
  segments_.push_back(segment);
  count_request(where, block, +1);
  if (where.kind == Kind::device) {
    ModelDevice& device = devices_[where.device];
    count_segment(segment, +1);
    device.add("allocation", segment.is_small, +1);
    device.add("allocated_bytes", segment.is_small, as_signed(bytes));
    device.add_block(block, segment.is_small, +1);
    count_oversize("oversize_allocations", where, bytes, +1);
  }
  if (is_host(where.kind)) {
    count_host(kHostKeys, block, +1);
    ++num_host_alloc_;
  }
  Outcome outcome = model_outcome(segment, block);
  outcome.source = Source::direct;
  return outcome;
}

Outcome NaiveModel::forget(Address address) {
  const Spot spot = start_of_live_block(address);
  if (!spot.found || !segments_[spot.segment].is_direct) return model_refusal({Result::invalid, 0});
  const ModelSegment segment = segments_[spot.segment];
  const ModelBlock block = segment.blocks[0];
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(spot.segment));
  count_request(segment.place, block, -1);
  if (segment.place.kind == Kind::device) {
    ModelDevice& device = devices_[segment.place.device];
    device.add("allocation", segment.is_small, -1);
    device.add("allocated_bytes", segment.is_small, -as_signed(block.size));
    device.add_block(block, segment.is_small, -1);
    count_oversize("oversize_allocations", segment.place, block.size, -1);
    count_segment(segment, -1);
    ++device.counts["num_device_free"];
  }
  if (is_host(segment.place.kind)) {
    count_host(kHostKeys, block, -1);
    ++num_host_free_;
  }
  ++kinds_[{segment.place.kind, segment.place.device}].frees;
  return model_outcome(segment, block);
}

// Counted as if the program had freed everything, but nothing was given back: it has just gone.
void NaiveModel::forget_place(Place where) {
  const std::int64_t device_frees = devices_[where.device].counts["num_device_free"];
  const std::int64_t host_frees = num_host_free_;
  while (const ModelSegment* direct = direct_of(where)) forget(direct->address);
  devices_[where.device].counts["num_device_free"] = device_frees;
  num_host_free_ = host_frees;
  const std::vector<Address> waiting = pending_;
  for (const Address address : waiting) {
    const Spot spot = block_at(address, BlockState::active_pending_free);
    if (segments_[spot.segment].place == where) complete_free(spot);
  }
  segments_ = segments();  // in the order of addresses: peaks of split blocks depend on it
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    for (std::size_t b = 0; segments_[s].place == where && b < segments_[s].blocks.size(); ++b) {
      if (segments_[s].blocks[b].is_free()) continue;
      begin_free({s, b, true});
      b = complete_free({s, b, true});
    }
  }
  std::vector<ModelSegment> kept;
  for (const ModelSegment& segment : segments_) {
    if (segment.place == where) {
      count_segment(segment, -1);
      std::erase(freed_pinned_, segment.address);
      if (segment.is_whole) std::erase(freed_whole_, segment.address);
    } else {
      kept.push_back(segment);
    }
  }
  segments_ = kept;
  std::replace(open_.begin(), open_.end(), std::optional(where), std::optional<Place>());
}

const ModelSegment* NaiveModel::direct_of(Place where) const {
  for (const ModelSegment& segment : segments_) {
    if (segment.is_direct && segment.place == where) return &segment;
  }
  return nullptr;
}

}  // namespace vramscope
