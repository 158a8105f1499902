// ReportParts is what a report is made of: the allocator's snapshot, what the recorder knows, and
// what was asked of the system and the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/ground/snapshot.h"
#include "reporter/ground/facts.h"
#include "reporter/report/cupti_facts.h"
#include "reporter/report/facts.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

// Each part is taken at its own instant but for `memory`, which is one instant.
struct ReportParts {
  std::string trigger;
  std::string commit = {};  // that the library was built from
  std::uint64_t sequence = 1;
  ProcessFacts process;
  std::vector<DeviceFacts> devices;
  std::uint64_t sample_bytes = 0;
  std::optional<CuptiFacts> cupti = {};
  std::vector<std::string> function_names;  // by row of functions.def
  Snapshot memory;
  RecorderFacts recorder;  // taken after `memory`, so that it knows every tag in it
  TraceReport trace;
  OomReport oom = {};
};

// Where the timeline begins: when recording did, and where that is not known with the
// snapshot itself.
[[nodiscard]] inline std::uint64_t start_of(const Snapshot& memory) {
  return memory.start_ns == 0 ? memory.taken_ns : memory.start_ns;
}

}  // namespace vramscope
