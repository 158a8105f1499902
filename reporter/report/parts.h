// ReportParts is everything from which a report is made: the allocator's snapshot, what the
// recorder knows, and what the system and the driver answered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/snapshot.h"
#include "reporter/base/facts.h"
#include "reporter/report/cupti_facts.h"
#include "reporter/report/facts.h"
#include "reporter/report/named_memory.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

// Each part is taken at its own instant. All of `memory` is from one instant.
struct ReportParts {
  std::string trigger;
  std::string commit = {};  // the commit from which the library was built
  std::uint64_t sequence = 1;
  ProcessFacts process;
  std::vector<DeviceFacts> devices;
  std::uint64_t sample_bytes = 0;
  std::optional<CuptiFacts> cupti = {};
  std::optional<NamedMemory> named_memory = {};
  std::vector<std::string> function_names;  // by row of functions.def
  Snapshot memory;
  RecorderFacts recorder;  // taken after `memory`, so that it knows every tag in it
  TraceReport trace;
  OomReport oom = {};
};

// Returns when the timeline begins: with the recording, or with the snapshot if that is not known.
[[nodiscard]] inline std::uint64_t start_of(const Snapshot& memory) {
  return memory.start_ns == 0 ? memory.taken_ns : memory.start_ns;
}

}  // namespace vramscope
