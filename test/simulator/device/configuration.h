// The simulated driver's settings, from the environment variable VRAMSCOPE_SIM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/trial/gpu_models.h"
#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

struct Configuration {
  Model model;                            // the GPU that each device imitates
  std::uint64_t capacity = model.memory;  // bytes per device; B, KiB, MiB, GiB or none
  int devices = 1;                        // 1 to 16
  std::uint64_t fail_alloc = 0;           // this allocation call of each device fails; 0: none
  std::uint64_t sticky_after = 0;         // after this many allocation calls ...
  std::int32_t sticky_code = 0;           // ... every call returns this code; 0: never
  std::uint64_t context_bytes = 536'128 << 10;  // kept by the driver for each context (H200)
  std::uint64_t module_bytes = 0;               // kept for each loaded module or library
  bool cancels_late = false;  // a cancelled thread ends at the end of calls, not at their beginning
  std::uint64_t slow_free_us = 0;     // each free takes at least this long
  std::uint64_t delay_us = 0;         // each asynchronous operation starts this late
  std::uint64_t slow_capture_us = 0;  // a capture's begin returns this long after the capture began
  Footprint footprint;                // small_fit, empty_chunks, chunks_of and placement
  std::uint64_t busy_wait_ms =
      10'000;                 // after so long without a call a busy wait is told; 0: never
  bool says_missing = false;  // name each function once that is called and not simulated
  int driver_version = 13000;
  std::string shared;  // processes with the same name, or path of a file, share the capacity
  std::vector<std::string> lacks;  // exported or asked-for names that this driver does not have
};

struct Parsed {
  Configuration configuration;
  std::vector<std::string> complaints;  // one line for each bad entry, whose default is kept
};

// Parses "capacity=16GiB,devices=1,sticky=3:700,lacks=cuMemAllocAsync+cuGraphAddNode,..."
[[nodiscard]] Parsed parse_configuration(std::string_view text);

}  // namespace vramscope::simulator
