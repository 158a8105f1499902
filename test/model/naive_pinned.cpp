// The judge of the allocator on pinned host memory: see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

std::uint64_t power_of_two(std::uint64_t bytes) {
  std::uint64_t power = 1;
  while (power < bytes) power *= 2;
  return power;
}

}  // namespace

Outcome NaiveModel::allocate_pinned(const Request& request) {
  if (is_native()) return allocate_part(request);
  Outcome outcome;
  outcome.requested = request.bytes;
  outcome.tag = request.tag;
  outcome.where = request.where;
  complete_pending(request.where, false);
  const bool is_rounded = request.bytes <= limits_.pinned_max_round_threshold &&
                          request.bytes <= limits_.pinned_max_cached_size;
  const std::uint64_t bytes = is_rounded ? power_of_two(request.bytes) : request.bytes;
  outcome.source = Source::hit;
  Spot spot = last_freed(request.where, bytes);
  if (spot.found) {
    hand_out_pinned(spot, request);
    const Address address = segments_[spot.segment].blocks[0].address;
    const Proof proof = prove(request.where, address, outcome.status);
    if (proof == Proof::refused) outcome.source = Source::none;
    if (proof == Proof::refused) return outcome;
    spot.found = proof == Proof::given;
  }
  if (!spot.found) {
    outcome.status = pin(request, bytes, outcome);
    if (!outcome.status.ok()) return outcome;
    spot = {segments_.size() - 1, 0, true};
    hand_out_pinned(spot, request);
  }

  const ModelBlock& block = segments_[spot.segment].blocks[0];
  outcome.address = block.address;
  outcome.rounded = block.size;
  return outcome;
}

void NaiveModel::hand_out_pinned(Spot spot, const Request& request) {
  ModelBlock& block = segments_[spot.segment].blocks[0];
  block.requested = request.bytes;
  block.tag = request.tag;
  block.state = BlockState::active_allocated;
  std::erase(freed_pinned_, block.address);
  count_host({"allocated", "allocated_bytes", "active_requests", "active_bytes"}, block, +1);
  count_request(request.where, block, +1);
}

// The block of the same power of two that became free last, if it is large enough.
NaiveModel::Spot NaiveModel::last_freed(Place where, std::uint64_t bytes) const {
  for (auto it = freed_pinned_.rbegin(); it != freed_pinned_.rend(); ++it) {
    const Spot spot = block_at(*it, BlockState::inactive);
    const ModelSegment& segment = segments_[spot.segment];
    if (segment.place != where || segment.size < bytes) continue;
    if (power_of_two(segment.size) == power_of_two(bytes)) return spot;
  }
  return {};
}

// PyTorch asks once; the rest is exact_fallback.
Status NaiveModel::pin(const Request& request, std::uint64_t bytes, Outcome& outcome) {
  outcome.source = Source::new_segment;
  Status status = add_pinned(request.where, bytes);
  if (status.result == Result::out_of_memory && limits_.exact_fallback) {
    if (backend_.may_wait(request.where)) {
      outcome.source = Source::after_trim;
      release_pinned(request.where);
      status = add_pinned(request.where, bytes);
    }
    if (status.result == Result::out_of_memory && request.bytes < bytes) {
      status = add_pinned(request.where, request.bytes);
    }
  }
  if (!status.ok()) outcome.source = Source::none;
  return status;
}

Status NaiveModel::add_pinned(Place where, std::uint64_t bytes) {
  const Grant grant = backend_.reserve(where, bytes);
  if (!grant.status.ok()) return grant.status;
  const ModelBlock whole{.address = grant.address, .size = bytes};
  segments_.push_back({where, grant.address, bytes, is_small_to_model(bytes), false, {whole}});
  count_host({"segment", "reserved_bytes"}, whole, +1);
  ++num_host_alloc_;
  return {};
}

// The smallest power of two first, of one the last freed.
void NaiveModel::release_pinned(Place where) {
  complete_pending(where, false);
  if (is_native()) {
    release_each(idle_segments(where));
    return;
  }
  std::vector<std::pair<std::uint64_t, Address>> idle;
  for (auto it = freed_pinned_.rbegin(); it != freed_pinned_.rend(); ++it) {
    const ModelSegment& segment = segments_[block_at(*it, BlockState::inactive).segment];
    if (segment.place == where) idle.emplace_back(power_of_two(segment.size), *it);
  }
  std::stable_sort(idle.begin(), idle.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Address> addresses;
  for (const auto& [power, address] : idle) addresses.push_back(address);
  release_each(addresses);
}

void NaiveModel::trim_pinned(Place where) {
  if (backend_.may_wait(where)) release_pinned(where);
}

// What is too large to keep, or was exported, goes back as soon as its free is complete; for the
// latter that is the whole of the free, so its answer counts.
Status NaiveModel::settle(Address address) {
  if (is_native()) settle_part(address);
  const Spot spot = block_at(address, BlockState::inactive);
  if (!spot.found) return {};
  const ModelSegment& segment = segments_[spot.segment];
  const bool is_exported = segment.is_exported;
  const bool is_kept = is_native() || segment.place.kind != Kind::pinned ||
                       segment.size <= limits_.pinned_max_cached_size;
  Status status;
  if (is_exported || !is_kept) release_segment(address, status);
  return is_exported ? status : Status{};
}

}  // namespace vramscope
