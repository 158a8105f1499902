// ProcessFacts, DeviceFacts and TraceReport are a report's facts about the process, a device and
// the trace, which are collected separately from the rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/base/device_use.h"
#include "reporter/base/facts.h"

namespace vramscope {

struct ProcessFacts {
  std::int64_t pid = 0;
  std::int64_t ppid = 0;
  std::string hostname;
  std::string executable;
  std::vector<std::string> arguments;
  std::int64_t rank = -1;        // from the usual launcher variables; -1 (null in JSON): none
  std::int64_t local_rank = -1;  // this and the following likewise: see JobPlace
  std::int64_t world_size = -1;
  std::int64_t restart = -1;
  std::string job = {};
  std::string launcher = {};
  std::uint64_t start_time_ns = 0;   // since the epoch: when the library was loaded
  std::uint64_t report_time_ns = 0;  // since the epoch
  std::string mode;
  std::vector<std::pair<std::string, std::string>> options;  // every option and its value
  std::int32_t cuda_driver_version = 0;                      // 13000 = 13.0; 0: unknown
  bool simulated = false;                // the device is Vramscope's simulated one
  std::uint64_t simulated_launches = 0;  // kernels that the simulated device accepted without
                                         // executing them
  std::string ended_by = {};  // the signal that ended the process, such as SIGKILL; "": none, or
                              // not known
};

struct DeviceFacts {
  std::uint16_t index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::string compute_capability;  // "9.0"
  bool unified = false;            // its memory is the host's, as of Jetson and GB10
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;         // the last sample taken on a thread of the program
  std::uint64_t free_bytes_age_ns = 0;  // how old that sample is
  std::uint64_t limit_bytes = 0;        // the size that the device appeared to have; 0: no limit
  std::uint64_t limit_refusals = 0;     // requests refused because of the limit
  // Memory at the time of that sample that was used by nothing recorded. Of it: what contexts and
  // modules were measured to take, as the difference that their creation made; the same for
  // exported memory that was given up; and what the driver's pools kept of freed memory, in part
  // until the program's streams reach the free.
  std::uint64_t outside_bytes = 0;
  std::uint64_t context_bytes = 0;
  std::uint64_t module_bytes = 0;
  std::string measured_by = {};  // how context_bytes and module_bytes were measured: a word of
                                 // MeasuredBy
  std::vector<DeviceProcess> other_processes = {};  // the processes that NVML named when the report
                                                    // was made
  std::uint64_t exported_bytes = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t pool_pending_bytes = 0;
  // Of outside_bytes, what the process held when Vramscope was attached, less what it has freed of
  // it since; nothing: it was not attached, or NVML did not say.
  std::optional<std::uint64_t> before_bytes = {};
  PageTimes pages = {};
};

// The file with every event, if a trace was asked for.
struct TraceReport {
  std::string path;          // "": the process has no trace
  std::uint64_t events = 0;  // in the file
  std::uint64_t bytes = 0;   // size of the file
  std::uint64_t lost = 0;    // events that are not in the file
  std::string problem;       // why the trace ended early; "": it did not
};

}  // namespace vramscope
