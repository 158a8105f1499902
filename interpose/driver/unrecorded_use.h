// Memory of a device that is used and not recorded: what the driver keeps for contexts and code, as
// NVML tells it of this process, or else measured as the difference around the calls that cause it;
// what its pools keep of memory that the program freed, by their own word; and what other processes
// hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/capability.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/peer_processes.h"
#include "interpose/driver/pool_devices.h"
#include "interpose/settings/startup.h"
#include "interpose/table/functions.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {

class CudaBackend;

// Threads: any. Asks the driver and the allocator, never while its own lock is held.
class UnrecordedUse {
 public:
  UnrecordedUse(CachingAllocator& allocator, CudaBackend& backend, PoolDevices& pools,
                const Captures& captures, LiveProcess& live) noexcept
      : allocator_(allocator), backend_(backend), pools_(pools), captures_(captures), live_(live) {}

  struct Figures {
    std::uint64_t outside_bytes = 0;        // used at the last sample, by nothing that is recorded
    std::uint64_t context_bytes = 0;        // of these, for this process's contexts
    std::uint64_t module_bytes = 0;         // and for the code that it loaded
    MeasuredBy measure = MeasuredBy::none;  // of those two
    std::uint64_t exported_bytes = 0;       // and gave up, while others may have it open; at most
    std::uint64_t pool_bytes = 0;           // and freed, and the driver's pools keep it
    std::uint64_t pool_pending_bytes = 0;   // of these, until the streams of the frees come there
  };
  // Throws LockLost where lost locks are given up, and nothing else.
  [[nodiscard]] Figures figures(std::uint16_t device);

  // Asks NVML, through `vramscope run`, what this process uses of the device: figures() then goes
  // by it. Gives the others that it named. Makes no call of the driver. May throw as figures()
  // does, and bad_alloc.
  [[nodiscard]] std::vector<DeviceProcess> ask_nvml(std::uint16_t device);

  // The driver told how much of the device is free; the backend passes it on.
  void note_free(std::uint16_t device, std::uint64_t free_bytes,
                 std::uint64_t total_bytes) noexcept;
  // The allocator knows it already, from a segment that it just got. Asks the pools of the device.
  // On a thread of the program, in its own call.
  void note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept;
  // Asks it, for the current context's device. Gives the bytes that nothing recorded accounts for.
  std::optional<std::uint64_t> measure(std::uint16_t device) noexcept;
  // What was outside before this process had a context there, if `vramscope run` knew.
  [[nodiscard]] static std::optional<std::uint64_t> used_before(CUdevice device) noexcept;

  // The program made `context`, its first on the device and current now, when used_before() had
  // told `before`. Measures it, and shares what came since among the processes that have made one.
  void made_first_context(CUcontext context, std::uint16_t device, std::uint64_t before) noexcept;
  // The program made `context`, or loaded code into it or unloaded it; both were measured.
  void made_context(CUcontext context, std::uint16_t device, std::uint64_t before,
                    std::uint64_t after) noexcept;
  void changed_code(CUcontext context, std::uint16_t device, std::uint64_t before,
                    std::uint64_t after) noexcept;
  void ended(CUcontext context) noexcept;
  // So many bytes that this process had exported and gave up are still used.
  void gave_up_exported(std::uint16_t device, std::uint64_t bytes) noexcept;

 private:
  struct Part {  // of one context
    CUcontext context = nullptr;
    std::uint16_t device = 0;
    std::int64_t context_bytes = 0;  // at most
    bool is_measured = false;        // it was
    std::int64_t module_bytes = 0;
  };
  struct Told {                       // by NVML
    std::string uuid = {};            // of a device where it can be asked
    std::uint64_t context_bytes = 0;  // of one context; 0: not known
    std::uint64_t driver_bytes = 0;   // of this process, and not recorded
  };
  // NVML's answer, and what is recorded of the device; `held` is nothing where that changed
  // meanwhile.
  struct Answer {
    std::vector<DeviceProcess> processes;
    std::optional<std::uint64_t> held;  // what is recorded
    std::uint64_t managed = 0;          // of that
  };
  [[nodiscard]] std::optional<Answer> answer_of_nvml(std::uint16_t device);
  void take_answer(std::uint16_t device, const Answer& answer) VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] MeasuredBy measure_of(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  void measure_first_context(std::uint16_t device) noexcept;
  [[nodiscard]] std::uint64_t contexts_on(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Part* part_of(CUcontext context, std::uint16_t device) VRAMSCOPE_REQUIRES(mutex_);
  // Contexts of one device take the same: none takes more than the least that was measured.
  void bound_contexts(std::uint16_t device);
  void announce(std::uint16_t device, std::uint64_t before) noexcept;
  [[nodiscard]] Figures sum(std::uint16_t device) const;
  [[nodiscard]] std::optional<std::uint16_t> remove(CUcontext context) noexcept;  // its device
  // What changed goes to the live file.
  void publish(std::uint16_t device) noexcept;

  CachingAllocator& allocator_;
  CudaBackend& backend_;
  PoolDevices& pools_;
  const Captures& captures_;
  LiveProcess& live_;
  PeerProcesses peers_{startup().runtime_folder};
  mutable SystemMutex mutex_;
  std::vector<Part> parts_ VRAMSCOPE_GUARDED_BY(mutex_);
  void set_outside(std::uint16_t device, std::uint64_t bytes) VRAMSCOPE_REQUIRES(mutex_);
  struct Kept {  // by pools of a device
    std::uint64_t bytes = 0;
    std::uint64_t pending_bytes = 0;
  };
  [[nodiscard]] std::optional<Kept> ask_pools(std::uint16_t device) noexcept;

  // As if all managed memory lay on the device, of which there were managed_ then.
  std::array<std::uint64_t, kMaxDevices> outside_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<std::uint64_t, kMaxDevices> managed_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<std::uint64_t, kMaxDevices> exported_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<Kept, kMaxDevices> kept_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<Told, kMaxDevices> told_ VRAMSCOPE_GUARDED_BY(mutex_){};
};

}  // namespace vramscope
