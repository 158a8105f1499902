// How the judge of the allocator keeps little idle, as the native-safe policy says: see
// naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kNoise = 16 << 20;

}  // namespace

// The contexts of a device have equal parts of what may stay idle there, and of what is unused.
std::uint64_t NaiveModel::part_of_place(Place where, std::uint64_t bytes) const {
  std::uint64_t count = 0;
  for (const std::optional<Place>& place : open_) {
    if (place && place->device == where.device) ++count;
  }
  return bytes / count;
}

std::uint64_t NaiveModel::unused_bytes(Place where) const {
  std::uint64_t used = 0;
  if (unrecorded_.contains(where.device)) used = unrecorded_.at(where.device);
  for (const ModelSegment& segment : segments_) {
    const bool is_on_device =
        segment.place.kind != Kind::pinned && segment.place.kind != Kind::registered;
    if (is_on_device && segment.place.device == where.device) used += segment.size;
  }
  const std::uint64_t total = backend_.total_bytes(where);
  return total - std::min(total, used);
}

std::uint64_t NaiveModel::idle_in_pools(Place where) const {
  std::uint64_t bytes = 0;
  for (const ModelSegment& segment : segments_) {
    if (segment.place == where && segment.is_idle() && !segment.is_whole) bytes += segment.size;
  }
  return bytes;
}

void NaiveModel::note_unrecorded(std::uint16_t device, std::uint64_t bytes) {
  const auto is_there = [&](const auto& place) { return place && place->device == device; };
  const auto place = std::find_if(open_.begin(), open_.end(), is_there);
  if (!is_native() || place == open_.end()) return;
  const bool is_first = !least_unrecorded_.contains(device);
  std::uint64_t& least = least_unrecorded_[device];
  const bool has_grown =
      !is_first && bytes > least + std::min(kNoise, backend_.total_bytes(**place) / 64);
  if (is_first || has_grown || bytes < least) least = bytes;
  unrecorded_[device] = bytes;
  if (has_grown) wanted_.insert(device);
}

// Whether somebody else needs memory there.
bool NaiveModel::give_way(Place where) {
  if (!wanted_.contains(where.device)) return false;
  if (full_release(where.device)) wanted_.erase(where.device);
  return true;
}

void NaiveModel::shed(Place where) {
  if (!is_native() || give_way(where)) return;
  const std::uint64_t share_of_device = part_of_place(where, share(where, limits_.idle_share));
  const std::uint64_t unused = part_of_place(where, unused_bytes(where));
  const std::uint64_t idle = idle_in_pools(where);
  const std::uint64_t cap = std::max(share_of_device, unused) / kBlock * kBlock;
  const std::uint64_t most = std::max(share_of_device, (idle + unused) / 2);
  if (idle > cap && backend_.may_wait(where)) release_oldest(where, idle - (most - most / 16));
}

// Those that are idle for at least the mean age go by address, until it is enough.
void NaiveModel::release_oldest(Place where, std::uint64_t bytes) {
  const auto age = [&](const ModelSegment& segment) {
    return searches(segment) - segment.blocks[0].freed_at;
  };
  for (std::uint64_t left = bytes; left > 0;) {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    for (const ModelSegment& segment : segments_) {
      if (segment.place != where || !segment.is_idle() || segment.is_whole) continue;
      sum += age(segment);
      ++count;
    }
    std::vector<Address> chosen;
    std::uint64_t size = 0;
    for (const ModelSegment& segment : segments()) {
      if (segment.place != where || !segment.is_idle() || segment.is_whole) continue;
      if (age(segment) < sum / count || size >= left) continue;
      chosen.push_back(segment.address);
      size += segment.size;
    }
    const std::uint64_t released = release_each(chosen);
    if (released == 0) return;
    left -= std::min(left, released);
  }
}

}  // namespace vramscope
