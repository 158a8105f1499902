// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/from_before.h"

#include <algorithm>
#include <string>

#include "allocator/caching_allocator.h"
#include "interpose/driver/device_facts.h"
#include "interpose/loader/real.h"
#include "interpose/settings/startup.h"

namespace vramscope {
namespace {

bool is_recorded(CachingAllocator& allocator, CUdeviceptr address) {
  constexpr Kind kFreed[] = {Kind::device, Kind::managed, Kind::stream_ordered, Kind::graph};
  return std::any_of(std::begin(kFreed), std::end(kFreed),
                     [&](Kind kind) { return allocator.find_direct(kind, address).direct; });
}

}  // namespace

void FromBefore::begin(std::uint16_t device) {
  if (startup().held_before.empty()) return;
  const std::string uuid = uuid_of(device);
  for (const HeldBefore& held : startup().held_before) {
    if (held.uuid != uuid) continue;
    const SystemLock lock(mutex_);
    devices_[device].bytes = held.bytes;
    any_.store(true, std::memory_order_relaxed);
  }
}

std::optional<std::uint64_t> FromBefore::bytes(std::uint16_t device) const {
  if (!any()) return std::nullopt;
  const SystemLock lock(mutex_);
  return devices_[device].bytes;
}

bool FromBefore::saw(std::uint16_t device, const Sample& sample) noexcept {
  if (!any()) return false;
  const SystemLock lock(mutex_);
  Device& its = devices_[device];
  if (!its.bytes) return false;
  if (its.saw_pools) return true;
  if (sample.reserved_bytes == 0) {
    its.outside_bytes = sample.outside_bytes;
    return true;
  }
  const std::uint64_t missing =
      its.outside_bytes - std::min(sample.outside_bytes, its.outside_bytes);
  const std::uint64_t idle = sample.idle_bytes + std::min(missing, sample.recorded_bytes);
  *its.bytes -= std::min(idle, *its.bytes);
  its.saw_pools = true;
  return true;
}

FromBefore::Block FromBefore::block_at(CachingAllocator& allocator,
                                       CUdeviceptr address) const noexcept {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  int device = -1;
  const Real& driver = real();
  const bool is_known =
      !is_recorded(allocator, address) &&
      driver.cuMemGetAddressRange_v2(&begin, &bytes, address) == CUDA_SUCCESS && begin == address &&
      driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) ==
          CUDA_SUCCESS &&
      device >= 0 && device < int{kMaxDevices};
  if (!is_known) return {};
  return {.device = static_cast<std::uint16_t>(device), .bytes = bytes};
}

bool FromBefore::freed(const Block& block, To where) noexcept {
  if (block.bytes == 0) return false;
  const SystemLock lock(mutex_);
  Device& its = devices_[block.device];
  if (!its.bytes || (where == To::pool && !its.saw_pools)) return false;
  *its.bytes -= std::min(block.bytes, *its.bytes);
  its.outside_bytes -= std::min(block.bytes, its.outside_bytes);
  return true;
}

}  // namespace vramscope
