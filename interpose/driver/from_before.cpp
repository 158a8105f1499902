// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/from_before.h"

#include <algorithm>
#include <string>

#include "allocator/caching_allocator.h"
#include "interpose/driver/device_facts.h"
#include "interpose/driver/range_bytes.h"
#include "interpose/loader/real.h"
#include "interpose/settings/startup.h"

namespace vramscope {
namespace {

// Returns `otherwise` if the driver does not tell.
template <class T>
T attribute_of(CUdeviceptr address, CUpointer_attribute name, T otherwise) {
  T value = otherwise;
  const CUresult code = real().cuPointerGetAttribute(&value, name, address);
  return code == CUDA_SUCCESS ? value : otherwise;
}

}  // namespace

void FromBefore::begin() {
  int count = 0;
  if (startup().held_before.empty() || real().cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int device = 0; device < std::min(count, int{kMaxDevices}); ++device) {
    const std::string uuid = uuid_of(device);
    const SystemLock lock(mutex_);
    std::optional<std::uint64_t>& bytes = devices_[static_cast<std::size_t>(device)].bytes;
    for (const HeldBefore& held : startup().held_before) {
      if (held.uuid == uuid) bytes = bytes.value_or(0) + held.bytes;
    }
    set_any();
  }
}

void FromBefore::set_any() noexcept {
  any_.store(std::any_of(devices_.begin(), devices_.end(),
                         [](const Device& one) { return one.bytes.value_or(0) != 0; }),
             std::memory_order_relaxed);
}

std::optional<std::uint64_t> FromBefore::bytes(std::uint16_t device) const {
  if (startup().held_before.empty()) return std::nullopt;
  const SystemLock lock(mutex_);
  return devices_[device].bytes;
}

// With I bytes idle at the attachment and F freed to pools since, all else being equal, the pools
// have I + F - (what fell outside) idle.
void FromBefore::saw(std::uint16_t device, const Sample& sample) noexcept {
  if (!any()) return;
  const SystemLock lock(mutex_);
  Device& its = devices_[device];
  if (!its.bytes || its.saw_pools) return;
  if (sample.reserved_bytes == 0 && its.pooled_bytes == 0) {
    its.outside_bytes = sample.outside_bytes;
    return;
  }
  its.saw_pools = true;
  const std::uint64_t had = sample.idle_bytes + its.outside_bytes;
  const std::uint64_t explained = sample.outside_bytes + its.pooled_bytes;
  *its.bytes -= std::min(had - std::min(explained, had), *its.bytes);
  set_any();
}

FromBefore::Block FromBefore::block_at(CachingAllocator& allocator,
                                       CUdeviceptr address) const noexcept {
  // All kinds that these functions free share their addresses.
  if (real().cuPointerGetAttribute == nullptr ||
      allocator.find_direct(Kind::device, address).direct) {
    return {};
  }
  const std::size_t bytes = range_bytes(address);
  if (bytes == 0 || attribute_of(address, CU_POINTER_ATTRIBUTE_IS_MANAGED, 0U) != 0) return {};
  const int device = attribute_of(address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, -1);
  if (device < 0 || device >= int{kMaxDevices}) return {};
  const auto pool =
      attribute_of(address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CUmemoryPool{nullptr});
  return {
      .device = static_cast<std::uint16_t>(device), .bytes = bytes, .is_pooled = pool != nullptr};
}

void FromBefore::freed(const Block& block) noexcept {
  const SystemLock lock(mutex_);
  Device& its = devices_[block.device];
  if (!its.bytes) return;
  *its.bytes -= std::min(block.bytes, *its.bytes);
  if (!block.is_pooled) its.outside_bytes -= std::min(block.bytes, its.outside_bytes);
  if (block.is_pooled && !its.saw_pools) its.pooled_bytes += block.bytes;
  set_any();
}

std::uint64_t FromBefore::ended(std::uint16_t device) noexcept {
  if (!any()) return 0;
  const SystemLock lock(mutex_);
  Device& its = devices_[device];
  const std::uint64_t had = its.bytes.value_or(0);
  if (its.bytes) its.bytes = 0;
  set_any();
  return had;
}

}  // namespace vramscope
