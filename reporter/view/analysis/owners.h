// OwnersAnswer is whose the memory of each GPU is, at the peak and in the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// A row of the ledger, with what its owner held of the kind when all of that was at its peak on the
// device: requested bytes; nothing: not known, or no call asked for it.
struct OwnerRow {
  LedgerEntry entry;
  std::string memory = {};  // for a reader: memory_name(), or the kind
  std::optional<std::uint64_t> at_peak = {};
};
// Returns the rows in the order of the report. Requested bytes at the peak come from the axis of
// owners; they are unknown if the report has no such axis, or if a filter removed it.
[[nodiscard]] std::vector<OwnerRow> owner_rows(const Report& report);

// Bytes that are used of the device, whatever passes a filter. kind: of the ledger; "": all, of
// several processes without the others, which are known by a bound alone.
[[nodiscard]] std::uint64_t used_on(const Report& report, std::uint16_t device,
                                    std::string_view kind = "");

// What is used of a GPU in the end.
struct GpuOwners {
  const DeviceFacts* facts = nullptr;
  std::uint64_t used = 0;
  std::uint64_t managed = 0;  // of it, which may lie on the host
  std::uint64_t others = 0;   // of it, of other processes and unexplained; of several processes
                              // at most, and not in it
  std::vector<OwnerRow> rows = {};  // the largest part first
};

// It refers to the report, which outlives it.
struct OwnersAnswer {
  // What calls asked for: of the memory that held most at its peak first, and of each the largest.
  std::vector<OwnerRow> at_peak = {};
  std::map<std::string, std::uint64_t> peak_sums = {};  // bytes by OwnerRow::memory
  std::vector<GpuOwners> gpus = {};  // with memory in use, of which a row passes the filter
  Leaked leaked = {};                // what was never freed
};
// May throw bad_alloc.
[[nodiscard]] OwnersAnswer owners_answer(const Report& report, const NameFrame& name);

}  // namespace vramscope
