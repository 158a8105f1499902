// UsedDevices knows the devices that the program has used: their facts, asked at the first memory,
// and their current use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/caching_allocator.h"
#include "interpose/driver/cuda_backend.h"
#include "interpose/driver/unrecorded_use.h"
#include "reporter/record/recorder.h"
#include "reporter/report/facts.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {

// Threads: any. It asks the driver and the allocator, and does not hold its own lock then.
class UsedDevices {
 public:
  UsedDevices(CachingAllocator& allocator, CudaBackend& backend, UnrecordedUse& use,
              Recorder& recorder, LiveProcess& live) noexcept
      : allocator_(allocator), backend_(backend), use_(use), recorder_(recorder), live_(live) {}

  // Asks the driver for the facts of `device` at its first memory, on the program's own thread.
  void note(std::uint16_t device) noexcept;

  // Returns facts and use of all devices. Asks `run` which processes use them. Does not call the
  // driver. May throw bad_alloc.
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
