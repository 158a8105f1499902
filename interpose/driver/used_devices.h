// The devices that the program has used: what the driver said of each at its first memory, and how
// much of each is used now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/capability.h"
#include "interpose/driver/cuda_backend.h"
#include "interpose/driver/unrecorded_use.h"
#include "reporter/record/recorder.h"
#include "reporter/report/facts.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {

// Threads: any. Asks the driver and the allocator, never while its own lock is held.
class UsedDevices {
 public:
  UsedDevices(CachingAllocator& allocator, CudaBackend& backend, UnrecordedUse& use,
              Recorder& recorder, LiveProcess& live) noexcept
      : allocator_(allocator), backend_(backend), use_(use), recorder_(recorder), live_(live) {}

  // The first memory on `device`: asks the driver what it is called, on the program's own thread.
  void note(std::uint16_t device) noexcept;

  // May throw bad_alloc. Makes no call of the driver. Asks `run` who uses the devices.
  [[nodiscard]] std::vector<DeviceFacts> facts();

 private:
  CachingAllocator& allocator_;
  CudaBackend& backend_;
  UnrecordedUse& use_;
  Recorder& recorder_;
  LiveProcess& live_;
  SystemMutex mutex_;
  std::vector<DeviceFacts> devices_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
