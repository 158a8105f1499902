// Memory pools: segments of a device, cut into pieces, which a pool keeps as long as it may.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/trial/granules.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

struct Device;

// A free that its stream has not reached. Later requests of that stream may use the bytes.
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

// Threads: any. It has a lock of its own, under which it calls only the device's accounts.
struct CUmemPoolHandle_st {
 public:
  CUmemPoolHandle_st(int device, bool is_default) : device(device), is_default(is_default) {}

  const int device;
  const bool is_default;
  bool managed = false;  // the host also reads and writes its memory
  CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE;
  bool imported = false;        // allocates nothing
  std::uint64_t max_bytes = 0;  // 0: no limit except the device's

  // Returns bytes for a request of that stream, which may be those that its earlier requests freed.
  [[nodiscard]] vramscope::simulator::PoolPiece take(std::uint64_t bytes, CUstream stream);
  // Gives bytes back at once.
  void give(vramscope::Address start, std::uint64_t bytes);
  // Gives bytes back when the stream gets there, and then calls `finish`.
  std::shared_ptr<vramscope::simulator::PendingFree> give_later(vramscope::Address start,
                                                                std::uint64_t bytes,
                                                                CUstream stream);
  void finish(vramscope::simulator::PendingFree& pending);

  // Give whole segments back to the device until only the bytes of the release threshold, or of
  // `least`, would be left.
  void trim_to_threshold();
  void trim_to(std::uint64_t least);
  // No handle refers to the pool any more: free memory goes back now or as soon as it is free.
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

// Lets pools shrink to their thresholds; the next wait that a program makes calls it (cuda.h).
void trim_pools();
// Takes what idle pools keep, for a request for which the device has no room.
void reclaim_from_pools(Device& device, std::uint64_t bytes);

}  // namespace vramscope::simulator
