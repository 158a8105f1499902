// UnrecordedUse measures memory of a device that is used and not recorded: what the driver takes
// for contexts and code (from NVML, or measured around the calls that cause it), freed memory that
// the driver's pools keep, and memory of other processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/caching_allocator.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/from_before.h"
#include "interpose/driver/peer_processes.h"
#include "interpose/driver/pool_devices.h"
#include "interpose/settings/startup.h"
#include "interpose/table/functions.h"
#include "reporter/base/segment.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {

class CudaBackend;

// Threads: any. It asks the driver and the allocator, and does not hold its own lock then.
class UnrecordedUse {
 public:
  UnrecordedUse(CachingAllocator& allocator, CudaBackend& backend, PoolDevices& pools,
                const Captures& captures, LiveProcess& live) noexcept
      : allocator_(allocator), backend_(backend), pools_(pools), captures_(captures), live_(live) {}

  struct Figures {
    std::uint64_t outside_bytes = 0;        // used at the last sample by nothing that is recorded
    std::uint64_t context_bytes = 0;        // of these: this process's contexts
    std::uint64_t module_bytes = 0;         // of these: the code that it loaded
    MeasuredBy measure = MeasuredBy::none;  // of the previous two
    std::uint64_t exported_bytes = 0;       // of these: freed, and perhaps open elsewhere; at most
    std::uint64_t pool_bytes = 0;           // of these: freed, and kept by the driver's pools
    std::uint64_t pool_pending_bytes = 0;   // of pool_bytes: until the streams reach the frees
    std::optional<std::uint64_t> before_bytes = {};  // of these: from before an attachment
  };
  // Throws only LockLost, on a thread that skips abandoned locks.
  [[nodiscard]] Figures figures(std::uint16_t device);

  // Asks NVML, through `vramscope run`, what this process uses of the device. figures() uses the
  // answer from then on. Returns the other processes. Does not call the driver. May throw what
  // figures() throws, and bad_alloc.
  [[nodiscard]] std::vector<DeviceProcess> ask_nvml(std::uint16_t device);

  // Receives what of a device is used and not recorded, whenever the allocator learns of it.
  struct Callback {
    void (*function)(void* context, const UnrecordedChange& change) noexcept = nullptr;
    void* context = nullptr;
  };
  // Call it once, before the first device is used. begin_telling(): from then on the callback is
  // called, with all that is known at the next occasion of each device.
  void on_change(Callback callback) noexcept { callback_ = callback; }
  void begin_telling() noexcept;

  // Notes the free memory that the driver reported to the backend.
  void note_free(std::uint16_t device, std::uint64_t free_bytes,
                 std::uint64_t total_bytes) noexcept;
  // The same for a sample that the allocator has already, from a new segment. Asks the pools of the
  // device. Call it on a thread of the program, in its own call.
  void note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept;
  // Asks the driver for the current context's device. Returns the bytes that nothing recorded
  // accounts for.
  std::optional<std::uint64_t> measure(std::uint16_t device) noexcept;
  // Returns the bytes that others used before this process had a context there, if `vramscope run`
  // knew.
  [[nodiscard]] static std::optional<std::uint64_t> used_before(CUdevice device) noexcept;

  // Notes that the program made `context`, its first on the device and current now. `before`: what
  // used_before() returned. Measures the context, and divides the growth since then among the
  // processes that made one.
  void made_first_context(CUcontext context, std::uint16_t device, std::uint64_t before) noexcept;
  // Note that the program made `context`, or loaded or unloaded code in it, with the bytes measured
  // before and after.
  void made_context(CUcontext context, std::uint16_t device, std::uint64_t before,
                    std::uint64_t after) noexcept;
  void changed_code(CUcontext context, std::uint16_t device, std::uint64_t before,
                    std::uint64_t after) noexcept;
  // device: of the context, if from_before().any().
  void ended(CUcontext context, std::optional<std::uint16_t> device) noexcept;
  // What the process held when Vramscope was attached.
  [[nodiscard]] FromBefore& from_before() noexcept { return before_; }
  // Notes that the program freed such a block.
  void freed_from_before(const FromBefore::Block& block) noexcept;
  // Notes that `bytes` that this process had exported and freed are still used.
  void gave_up_exported(std::uint16_t device, std::uint64_t bytes) noexcept;

 private:
  struct Part {  // of one context
    CUcontext context = nullptr;
    std::uint16_t device = 0;
    std::int64_t context_bytes = 0;  // at most
    bool is_measured = false;        // whether context_bytes was measured
    std::int64_t module_bytes = 0;
  };
  struct Told {                       // by NVML:
    std::string uuid = {};            // if NVML can be asked about the device
    std::uint64_t context_bytes = 0;  // of one context; 0: unknown
    std::uint64_t driver_bytes = 0;   // of this process, not recorded
  };
  // NVML's answer, and what is recorded of the device. `held` is empty if the record changed
  // meanwhile.
  struct Answer {
    std::vector<DeviceProcess> processes;
    std::optional<std::uint64_t> held;  // what is recorded
    std::uint64_t managed = 0;          // of `held`
  };
  [[nodiscard]] static std::uint64_t positive(std::int64_t bytes) noexcept {
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }
  [[nodiscard]] std::optional<Answer> answer_of_nvml(std::uint16_t device);
  void take_answer(std::uint16_t device, const Answer& answer) VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] MeasuredBy measure_of(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  void measure_first_context(std::uint16_t device) noexcept;
  [[nodiscard]] std::uint64_t contexts_on(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Part* part_of(CUcontext context, std::uint16_t device) VRAMSCOPE_REQUIRES(mutex_);
  // Bounds all contexts of a device by the least that was measured, since they take the same.
  void bound_contexts(std::uint16_t device);
  void announce(std::uint16_t device, std::uint64_t before) noexcept;
  [[nodiscard]] Figures sum(std::uint16_t device) const;
  [[nodiscard]] bool is_measured(CUcontext context) const noexcept;
  [[nodiscard]] std::optional<std::uint16_t> remove(CUcontext context) noexcept;  // its device
  // What the callback is told: also what is as it was, since the allocator decides anew how much
  // may stay idle whenever it learns of a sample.
  enum class Tell : bool { of_changes, of_a_sample };
  // Writes the changes to the live file.
  void publish(std::uint16_t device, Tell tells = Tell::of_changes) noexcept;
  void tell(std::uint16_t device, Tell tells) noexcept;

  CachingAllocator& allocator_;
  CudaBackend& backend_;
  PoolDevices& pools_;
  const Captures& captures_;
  LiveProcess& live_;
  FromBefore before_;
  PeerProcesses peers_{startup().runtime_folder};
  Callback callback_;
  mutable SystemMutex mutex_;
  std::vector<Part> parts_ VRAMSCOPE_GUARDED_BY(mutex_);
  void set_outside(std::uint16_t device, std::uint64_t bytes) VRAMSCOPE_REQUIRES(mutex_);
  struct Kept {  // by the pools of a device
    std::uint64_t bytes = 0;
    std::uint64_t pending_bytes = 0;
  };
  [[nodiscard]] std::optional<Kept> ask_pools(std::uint16_t device, std::uint64_t outside) noexcept;

  // As if all managed memory, which was managed_ then, were on the device.
  std::array<std::uint64_t, kMaxDevices> outside_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<std::uint64_t, kMaxDevices> managed_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<std::uint64_t, kMaxDevices> exported_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<Kept, kMaxDevices> kept_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::array<Told, kMaxDevices> told_ VRAMSCOPE_GUARDED_BY(mutex_){};
  // What the callback was told of each device.
  std::array<UnrecordedChange, kMaxDevices> traced_ VRAMSCOPE_GUARDED_BY(mutex_){};
  std::atomic<bool> is_telling_{false};
};

}  // namespace vramscope
