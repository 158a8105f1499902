// Memory pools: segments of a device, cut into pieces, kept while the pool may keep them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "allocator/ground/place.h"
#include "test/simulator/device/granules.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

struct Device;

// A free that its stream has not reached: later requests of that stream may have the bytes.
struct PendingFree {
  CUstream stream = nullptr;
  Address start = 0;
  std::uint64_t bytes = 0;
};

struct PoolPiece {
  CUresult result = CUDA_SUCCESS;
  Address start = 0;
};

}  // namespace vramscope::simulator

// Threads: any; a lock of its own, under which only the device's accounts are called.
struct CUmemPoolHandle_st {
 public:
  CUmemPoolHandle_st(int device, bool is_default) : device(device), is_default(is_default) {}

  const int device;
  const bool is_default;
  bool managed = false;  // the host reads and writes its memory too
  CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE;
  bool imported = false;        // allocates nothing
  std::uint64_t max_bytes = 0;  // 0: no limit but the device's

  // Bytes for a request of that stream, which may use what earlier requests of it freed.
  [[nodiscard]] vramscope::simulator::PoolPiece take(std::uint64_t bytes, CUstream stream);
  // Back at once.
  void give(vramscope::Address start, std::uint64_t bytes);
  // Back when the stream gets there: `finish` then.
  std::shared_ptr<vramscope::simulator::PendingFree> give_later(vramscope::Address start,
                                                                std::uint64_t bytes,
                                                                CUstream stream);
  void finish(vramscope::simulator::PendingFree& pending);

  // Gives whole segments back to the device, down to what the attribute says, or until no more
  // than that many bytes would be left.
  void trim_to_threshold();
  void trim_to(std::uint64_t least);
  // No handle leads here any more: what is free now or later goes back.
  void retire();

  CUresult get(CUmemPool_attribute name, void* value);
  CUresult set(CUmemPool_attribute name, const void* value);
  CUresult set_access(const CUmemAccessDesc& access);
  [[nodiscard]] CUmemAccess_flags access_of(int other);

 private:
  struct Segment {
    std::uint64_t bytes;
    vramscope::simulator::Granules::Ranges free;
  };
  vramscope::Address take_pending(std::uint64_t bytes, CUstream stream);
  vramscope::Address take_free(std::uint64_t bytes);
  CUresult grow(std::uint64_t bytes);
  void end_segment(vramscope::Address start, std::uint64_t bytes);
  void put_back(vramscope::Address start, std::uint64_t bytes);
  template <class MayGo>
  void release_segments(MayGo may_go);
  vramscope::simulator::Device& home() const;

  std::mutex mutex_;  // guards everything below
  std::map<vramscope::Address, Segment> segments_;
  std::vector<std::shared_ptr<vramscope::simulator::PendingFree>> pending_;
  std::map<int, CUmemAccess_flags> access_;
  std::uint64_t release_threshold_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t used_high_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t reserved_high_ = 0;
  int reuse_[3] = {1, 1, 1};  // the three REUSE attributes; kept, without effect
  bool retired_ = false;
};

namespace vramscope::simulator {

// The next wait that a program makes lets pools go back to their thresholds (cuda.h).
void trim_pools();
// A request that the device has no room for takes what idle pools keep.
void reclaim_from_pools(Device& device, std::uint64_t bytes);

}  // namespace vramscope::simulator
