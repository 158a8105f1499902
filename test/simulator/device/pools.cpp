// Pieces, segments and counts of pools.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/pools.h"

#include <algorithm>
#include <iterator>

#include "test/simulator/driver/driver.h"

using vramscope::Address;
using vramscope::simulator::Granules;
using vramscope::simulator::kGranule;
using vramscope::simulator::kSmallAlignment;
using vramscope::simulator::PendingFree;
using vramscope::simulator::PoolPiece;
using vramscope::simulator::round_up;

namespace {
constexpr auto kAll = [](std::uint64_t) { return true; };
}  // namespace

vramscope::simulator::Device& CUmemPoolHandle_st::home() const {
  return *vramscope::simulator::driver().devices[static_cast<std::size_t>(device)];
}

template <class MayGo>
void CUmemPoolHandle_st::release_segments(MayGo may_go) {
  for (auto next = segments_.begin(); next != segments_.end();) {
    const auto segment = next++;
    const std::uint64_t bytes = segment->second.bytes;
    const auto& free = segment->second.free;
    if (free.empty() || free.begin()->second != bytes || !may_go(bytes)) continue;
    end_segment(segment->first, bytes);
    reserved_ -= bytes;
    segments_.erase(segment);
  }
}

PoolPiece CUmemPoolHandle_st::take(std::uint64_t bytes, CUstream stream) {
  const std::uint64_t charged = round_up(bytes, kSmallAlignment);
  const std::lock_guard lock(mutex_);
  if (max_bytes != 0 && charged > max_bytes - std::min(used_, max_bytes)) {
    return {.result = CUDA_ERROR_OUT_OF_MEMORY};
  }
  Address start = take_pending(charged, stream);
  if (start == 0 && (start = take_free(charged)) != 0) used_ += charged;
  if (start != 0) {
    // Counted as a request of the device like any other, so that injected faults hit it.
    const auto status = home().accounts.count_call();
    if (!status.ok()) {
      put_back(start, charged);
      return {.result = vramscope::simulator::result_of(status)};
    }
  } else {
    if (const CUresult full = grow(charged); full != CUDA_SUCCESS) return {.result = full};
    start = take_free(charged);
    used_ += charged;
  }
  used_high_ = std::max(used_high_, used_);
  return {.start = start};
}

Address CUmemPoolHandle_st::take_pending(std::uint64_t bytes, CUstream stream) {
  for (const auto& pending : pending_) {
    if (pending->stream != stream || pending->bytes < bytes) continue;
    const Address start = pending->start;
    pending->start += bytes;
    pending->bytes -= bytes;
    return start;
  }
  return 0;
}

Address CUmemPoolHandle_st::take_free(std::uint64_t bytes) {
  for (auto& [address, segment] : segments_) {
    if (const auto start = Granules::first_fit(segment.free, bytes)) return *start;
  }
  return 0;
}

CUresult CUmemPoolHandle_st::grow(std::uint64_t bytes) {
  const std::uint64_t rounded = round_up(bytes, kGranule);
  const auto grant = home().accounts.allocate(vramscope::simulator::Memory::device, rounded);
  if (!grant.status.ok()) return vramscope::simulator::result_of(grant.status);
  if (managed && !home().shadow.open_to_host(grant.address, rounded)) {
    (void)home().accounts.release(grant.address);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  segments_[grant.address] = {rounded, {{grant.address, rounded}}};
  reserved_ += rounded;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return CUDA_SUCCESS;
}

void CUmemPoolHandle_st::end_segment(Address start, std::uint64_t bytes) {
  if (managed) home().shadow.close_to_host(start, bytes);
  home().shadow.discard(start, bytes);
  (void)home().accounts.release(start);
}

void CUmemPoolHandle_st::put_back(Address start, std::uint64_t bytes) {
  used_ -= bytes;
  Granules::put_back(std::prev(segments_.upper_bound(start))->second.free, start, bytes);
}

void CUmemPoolHandle_st::give(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  put_back(start, round_up(bytes, kSmallAlignment));
  if (retired_) release_segments(kAll);
}

std::shared_ptr<PendingFree> CUmemPoolHandle_st::give_later(Address start, std::uint64_t bytes,
                                                            CUstream stream) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(
      std::make_shared<PendingFree>(PendingFree{stream, start, round_up(bytes, kSmallAlignment)}));
  return pending_.back();
}

void CUmemPoolHandle_st::finish(PendingFree& pending) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const auto& each) { return each.get() == &pending; });
  if (pending.bytes != 0) put_back(pending.start, pending.bytes);
  if (retired_) release_segments(kAll);
}

void CUmemPoolHandle_st::trim_to_threshold() {
  const std::lock_guard lock(mutex_);
  release_segments([this](std::uint64_t) { return reserved_ > release_threshold_; });
}

void CUmemPoolHandle_st::trim_to(std::uint64_t least) {
  const std::lock_guard lock(mutex_);
  release_segments([this, least](std::uint64_t bytes) { return reserved_ - bytes >= least; });
}

void CUmemPoolHandle_st::retire() {
  const std::lock_guard lock(mutex_);
  retired_ = true;
  release_segments(kAll);
}

CUresult CUmemPoolHandle_st::get(CUmemPool_attribute name, void* value) {
  const std::lock_guard lock(mutex_);
  const int flag = int{name} - int{CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES};
  if (flag >= 0 && flag < 3) {
    *static_cast<int*>(value) = reuse_[flag];
    return CUDA_SUCCESS;
  }
  auto& number = *static_cast<cuuint64_t*>(value);
  switch (name) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      number = release_threshold_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      number = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      number = used_high_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      number = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      number = reserved_high_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// The high-water marks can only be reset, to what is there now (cuda.h).
CUresult CUmemPoolHandle_st::set(CUmemPool_attribute name, const void* value) {
  const std::lock_guard lock(mutex_);
  const int flag = int{name} - int{CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES};
  if (flag >= 0 && flag < 3) {
    reuse_[flag] = *static_cast<const int*>(value);
    return CUDA_SUCCESS;
  }
  const cuuint64_t number = *static_cast<const cuuint64_t*>(value);
  if (name == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    release_threshold_ = number;
    return CUDA_SUCCESS;
  }
  if (number != 0) return CUDA_ERROR_INVALID_VALUE;
  if (name == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
    used_high_ = used_;
  } else if (name == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) {
    reserved_high_ = reserved_;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// The pool's own device always reaches its memory.
CUresult CUmemPoolHandle_st::set_access(const CUmemAccessDesc& access) {
  const std::lock_guard lock(mutex_);
  if (access.location.id == device && access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  access_[access.location.id] = access.flags;
  return CUDA_SUCCESS;
}

CUmemAccess_flags CUmemPoolHandle_st::access_of(int other) {
  if (other == device) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const std::lock_guard lock(mutex_);
  const auto found = access_.find(other);
  return found == access_.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
}

namespace vramscope::simulator {

void trim_pools() {
  for (const auto& pool : driver().pools.all()) pool->trim_to_threshold();
}

void reclaim_from_pools(Device& device, std::uint64_t bytes) {
  if (bytes <= device.accounts.free_bytes()) return;
  for (const auto& pool : driver().pools.all()) {
    if (pool->device == device.ordinal) pool->trim_to(0);
  }
}

}  // namespace vramscope::simulator
