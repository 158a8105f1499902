// play() asks the allocator that runs in programs for what a trace's program asked, over devices of
// given capacities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/base/limits.h"
#include "allocator/base/statistics.h"
#include "reporter/view/trial/call_costs.h"
#include "reporter/view/trial/trial_devices.h"
#include "reporter/view/trial/trial_steps.h"

namespace vramscope {

// Who serves memory: the caching allocator; the same with a segment for each request; the driver.
enum class Serving : std::uint8_t { cache, dedicated, driver };

struct TrialSettings {
  Serving serving = Serving::cache;
  Limits limits;
  std::array<std::uint64_t, kMaxDevices> capacity{};  // of each device, as the driver reports it
  std::array<std::uint64_t, kMaxDevices> memory_limit{};  // --device-memory-limit; 0: none
  std::uint64_t host_bytes = 0;
  CallCosts costs = {};
};

// A device in a replay. Reserved bytes: what the driver gave, of every kind that takes the device's
// memory.
struct TrialDevice {
  std::uint16_t device = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t peak_requested_bytes = 0;
  std::uint64_t requested_at_peak_bytes = 0;  // when most was reserved
  std::uint64_t peak_used_bytes = 0;          // in whole pages, with what is used and not recorded
  bool is_counted = false;                    // the allocator knows the device
  DeviceStatistics statistics;
};

// The first request that was served in the recording and is not in the replay.
struct TrialRefusal {
  std::uint64_t step = 0;  // index into TrialSteps::steps
  std::uint64_t at_ns = 0;
  std::uint64_t bytes = 0;
  Place place;
  bool is_use = false;  // memory that is not recorded, such as a context, has no room
};

struct TrialResult {
  std::vector<TrialDevice> devices;
  std::optional<HostStatistics> host;  // nullopt: no pinned or registered memory
  std::uint64_t driver_calls = 0;
  std::uint64_t driver_ns = 0;
  std::uint64_t refusals = 0;        // requests without memory, as in the recording
  std::uint64_t served_refused = 0;  // requests that were refused in the recording, and are served
  std::optional<TrialRefusal> refusal;  // the replay ends there
  bool is_as_recorded = false;          // segments came and went as in the recording
};

// The clock of a replay that goes on. Threads: any.
struct TrialProgress {
  std::atomic<std::uint64_t> steps{0};  // that were played
  std::atomic<bool> stops{false};       // ends the replay, whose result then means nothing
};

// The most between two instants: requested and reserved bytes, each of the device that has most.
struct TrialPeaks {
  std::uint64_t requested_bytes = 0;
  std::uint64_t reserved_bytes = 0;
};

// The peaks of the steps before the first of these indices, then between each two, and behind the
// last; {}: something is refused that the recording served. May throw bad_alloc.
[[nodiscard]] std::vector<TrialPeaks> play_parts(const TrialSteps& steps,
                                                 const TrialSettings& settings,
                                                 const std::vector<std::size_t>& begins,
                                                 TrialProgress& progress);

// Replays the recording's own settings where only that tells what happened: which of the calls that
// failed did not fail for want of memory, which become TrialStep::What::nothing, and what others
// used (TrialSteps::others). May throw bad_alloc.
void learn(TrialSteps& trace, const TrialSettings& recorded);

// May throw bad_alloc. Threads: any; steps are only read.
[[nodiscard]] TrialResult play(const TrialSteps& steps, const TrialSettings& settings,
                               TrialProgress& progress);

}  // namespace vramscope
