// ProcessFacts, DeviceFacts and TraceReport are what a report says of the process, of a device and
// of the trace; they are known apart from the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/ground/device_use.h"
#include "reporter/ground/facts.h"

namespace vramscope {

struct ProcessFacts {
  std::int64_t pid = 0;
  std::int64_t ppid = 0;
  std::string hostname;
  std::string executable;
  std::vector<std::string> arguments;
  std::int64_t rank = -1;            // from the usual launcher variables; -1 (null in JSON): none
  std::uint64_t start_time_ns = 0;   // since the epoch: when the library was loaded
  std::uint64_t report_time_ns = 0;  // since the epoch
  std::string mode;
  std::vector<std::pair<std::string, std::string>> options;  // every option and its value
  std::int32_t cuda_driver_version = 0;                      // 13000 = 13.0; 0: unknown
  bool simulated = false;                                    // on Vramscope's simulated device
  std::uint64_t simulated_launches = 0;  // kernels that it accepted without executing them
  std::string ended_by = {};             // the signal that did: SIGKILL; "": none, or nobody knows
};

struct DeviceFacts {
  std::uint16_t index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::string compute_capability;  // "9.0"
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;         // the last sample taken on a thread of the program
  std::uint64_t free_bytes_age_ns = 0;  // how old that sample is
  std::uint64_t limit_bytes = 0;        // that it seemed to have for the program; 0: no limit
  std::uint64_t limit_refusals = 0;     // requests refused because of that
  // At that sample: used, and not by anything recorded. Of this, what was measured as the
  // difference that making contexts, loading modules and giving up exported memory made; and what
  // the driver's pools kept of what the program freed, in part until its streams had come there.
  std::uint64_t outside_bytes = 0;
  std::uint64_t context_bytes = 0;
  std::uint64_t module_bytes = 0;
  std::string measured_by = {};                     // those two: a word of MeasuredBy
  std::vector<DeviceProcess> other_processes = {};  // that NVML named when the report was made
  std::uint64_t exported_bytes = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t pool_pending_bytes = 0;
  PageTimes pages = {};
};

// The file with every event, if the program was asked for one.
struct TraceReport {
  std::string path;          // "": there is none
  std::uint64_t events = 0;  // in it
  std::uint64_t bytes = 0;   // of it
  std::uint64_t lost = 0;    // events that are not in it
  std::string problem;       // why it ended early; "": it did not
};

}  // namespace vramscope
