// How the judge of the allocator gives segments back, and memory that is not its own: see
// naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

bool is_on_host(Kind kind) { return kind == Kind::pinned || kind == Kind::registered; }

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
    for (const bool is_whole : {false, true}) {
      complete_pending(where, is_whole);
      release_idle(where, is_whole);
    }
  }
  return is_counted;
}

// Those of pools by address; of dedicated ones the smallest and the first freed go first.
void NaiveModel::release_idle(Place where, bool is_whole) {
  std::vector<Address> idle =
      idle_segments(where, [=](const ModelSegment& s) { return s.is_whole == is_whole; });
  const auto is_earlier = [&](Address a, Address b) {
    const auto rank = [&](Address address) {
      const auto freed = std::find(freed_whole_.begin(), freed_whole_.end(), address);
      return std::make_pair(segments_[block_at(address, BlockState::inactive).segment].size, freed);
    };
    return rank(a) < rank(b);
  };
  if (is_whole) std::sort(idle.begin(), idle.end(), is_earlier);
  release_each(idle);
}

template <class Wanted>
std::vector<Address> NaiveModel::idle_segments(Place where, Wanted wanted) const {
  std::vector<Address> found;
  for (const ModelSegment& segment : segments()) {
    if (segment.place == where && segment.is_idle() && wanted(segment)) {
      found.push_back(segment.address);
    }
  }
  return found;
}

std::vector<Address> NaiveModel::idle_segments(Place where) const {
  return idle_segments(where, [](const ModelSegment&) { return true; });
}

// Until the backend refuses one. Tells the bytes that went.
std::uint64_t NaiveModel::release_each(const std::vector<Address>& segments) {
  std::uint64_t bytes = 0;
  for (const Address address : segments) {
    const std::uint64_t size = segments_[block_at(address, BlockState::inactive).segment].size;
    Status status;
    if (!release_segment(address, status)) break;
    bytes += size;
  }
  return bytes;
}

// A segment that the backend does not take stays what it is. An exported one cannot be used again:
// it is the first that goes next time.
bool NaiveModel::release_segment(Address address, Status& status) {
  const std::size_t index = block_at(address, BlockState::inactive).segment;
  const ModelSegment segment = segments_[index];
  if (!backend_.may_wait(segment.place)) return false;
  status = backend_.release(segment.place, segment.address).status;
  std::vector<Address> before = freed_whole_;
  if (segment.is_whole) std::erase(freed_whole_, segment.address);
  if (!status.ok()) {
    if (segment.is_exported) freed_whole_.insert(freed_whole_.begin(), segment.address);
    if (!segment.is_exported) freed_whole_ = before;
    return false;
  }
  count_segment(segment, -1);
  if (segment.place.kind == Kind::pinned) {
    ++num_host_free_;
    std::erase(freed_pinned_, segment.address);
  } else {
    ++devices_[segment.place.device].counts["num_device_free"];
  }
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
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
  return release_each(chosen) >= target;
}

// Large segments that are idle for at least the mean age go, until what is above the threshold has
// gone.
void NaiveModel::collect_garbage(Place where) {
  const std::uint64_t limit = share(where, limits_.memory_fraction);
  const auto threshold =
      static_cast<std::uint64_t>(limits_.garbage_collection_threshold * static_cast<double>(limit));
  const std::uint64_t before = own_bytes(where.device);
  if (before <= threshold || !backend_.may_wait(where)) return;
  const auto age = [&](const ModelSegment& segment) {
    return static_cast<double>(searches(segment) - segment.blocks[0].freed_at);
  };
  for (bool has_freed = true; has_freed && own_bytes(where.device) > threshold;) {
    double sum = 0;
    double count = 0;
    const auto is_candidate = [](const ModelSegment& s) { return !s.is_whole && !s.is_small; };
    for (const Address address : idle_segments(where, is_candidate)) {
      sum += age(segments_[block_at(address, BlockState::inactive).segment]);
      ++count;
    }
    has_freed = count > 0 && release_each(idle_segments(where, [&](const ModelSegment& s) {
                               return is_candidate(s) && age(s) >= sum / count;
                             })) > 0;
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
  if (is_on_host(where.kind)) {
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
  if (is_on_host(segment.place.kind)) {
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
  for (auto* open : {&open_, &open_pinned_}) {
    std::replace(open->begin(), open->end(), std::optional(where), std::optional<Place>());
  }
}

const ModelSegment* NaiveModel::direct_of(Place where) const {
  for (const ModelSegment& segment : segments_) {
    if (segment.is_direct && segment.place == where) return &segment;
  }
  return nullptr;
}

}  // namespace vramscope
