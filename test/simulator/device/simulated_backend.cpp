// The Backend calls, translated to the simulated device.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/simulated_backend.h"

namespace vramscope::simulator {
namespace {

constexpr std::int32_t kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

}  // namespace

Grant SimulatedBackend::reserve(Place where, std::size_t bytes) noexcept {
  if (on_reserve_) on_reserve_(where, bytes);
  const std::lock_guard lock(mutex_);
  Grant grant =
      device_.allocate(where.kind == Kind::pinned ? Memory::pinned : Memory::device, bytes);
  grant.ns = call_ns_;
  if (grant.status.ok()) origin_[grant.address] = where;
  return grant;
}

Reply SimulatedBackend::release(Place where, Address segment) noexcept {
  if (on_release_) on_release_(where, segment);
  return {.status = release_from(where, segment), .ns = call_ns_};
}

Grant SimulatedBackend::reserve_addresses(Place, std::uint64_t bytes, std::uint64_t page) noexcept {
  if (!may_wait_) return {.status = {Result::forbidden, 0}};
  if (!has_pages_) return {.status = {Result::failed, kNotSupported}};
  if (bytes > longest_range_) return {.status = {Result::failed, kOutOfMemory}};
  if (bytes == 0 || bytes % page != 0) ++misuses_;
  const std::lock_guard lock(pages_mutex_);
  const Address address = device_.reserve_addresses(bytes);
  ranges_[address] = bytes;
  return {.status = {}, .address = address, .ns = call_ns_};
}

// A page a call, and all of them undone when one is refused.
Grant SimulatedBackend::map(Place where, Address address, std::uint64_t bytes,
                            std::uint64_t page) noexcept {
  if (on_map_) on_map_(where, address);
  if (!may_wait_) return {.status = {Result::forbidden, 0}};
  if (const Status status = map_status_; !status.ok()) return {.status = status};
  const std::lock_guard lock(pages_mutex_);
  const auto range = ranges_.upper_bound(address);
  const bool is_inside = range != ranges_.begin() &&
                         address + bytes <= std::prev(range)->first + std::prev(range)->second &&
                         (address - std::prev(range)->first) % page == 0 && bytes % page == 0;
  if (!is_inside) ++misuses_;
  for (Address at = address; at < address + bytes; at += page) {
    const Status status = device_.create(page);
    if (status.ok()) continue;
    for (; at > address; at -= page) device_.destroy(page);
    return {.status = status, .ns = call_ns_};
  }
  for (Address at = address; at < address + bytes; at += page) {
    if (!mapped_.emplace(at, page).second) ++misuses_;
  }
  return {.status = {}, .address = address, .ns = call_ns_};
}

Reply SimulatedBackend::unmap(Place where, Address address, std::uint64_t bytes,
                              std::uint64_t page) noexcept {
  if (on_map_) on_map_(where, address);
  if (!may_wait_) return {.status = {Result::forbidden, 0}};
  if (const Status status = unmap_status_; !status.ok()) return {.status = status};
  const std::lock_guard lock(pages_mutex_);
  for (Address at = address; at < address + bytes; at += page) {
    if (mapped_.erase(at) == 0) ++misuses_;
    device_.destroy(page);
  }
  return {.status = {}, .ns = call_ns_};
}

void SimulatedBackend::release_addresses(Place, Address address, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(pages_mutex_);
  const auto range = ranges_.find(address);
  const auto page = mapped_.lower_bound(address);
  const bool is_empty = page == mapped_.end() || page->first >= address + bytes;
  if (range == ranges_.end() || range->second != bytes || !is_empty) ++misuses_;
  if (range != ranges_.end()) ranges_.erase(range);
}

std::size_t SimulatedBackend::reserved_ranges() const {
  const std::lock_guard lock(pages_mutex_);
  return ranges_.size();
}

std::size_t SimulatedBackend::mapped_pages() const {
  const std::lock_guard lock(pages_mutex_);
  return mapped_.size();
}

Reply SimulatedBackend::wait(Place where) noexcept {
  if (!may_wait_) return {.status = {Result::forbidden, 0}};
  if (on_wait_) on_wait_(where);
  ++waits_;
  if (const std::int32_t code = fail_wait_.exchange(0); code != 0) device_.set_sticky(code);
  return {.status = device_.health(), .ns = call_ns_};
}

Reply SimulatedBackend::probe(Place) noexcept {
  ++probes_;
  return {.status = device_.health(), .ns = call_ns_};
}

bool SimulatedBackend::may_wait(Place) noexcept { return may_wait_; }

std::uint64_t SimulatedBackend::total_bytes(Place) noexcept { return device_.capacity(); }

Status SimulatedBackend::release_from(Place where, Address segment) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = origin_.find(segment);
  if (found != origin_.end() && found->second != where) return {Result::invalid, kInvalidValue};
  const Status status = device_.release(segment);
  if (status.ok() && found != origin_.end()) origin_.erase(found);
  return status;
}

}  // namespace vramscope::simulator
