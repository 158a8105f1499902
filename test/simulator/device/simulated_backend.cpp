// The Backend calls, translated to the simulated device.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/simulated_backend.h"

namespace vramscope::simulator {

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
