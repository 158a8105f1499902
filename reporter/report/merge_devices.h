// MergedDevices gives each GPU of several processes the number that it has in a merged report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/gpus.h"

namespace vramscope {

struct LedgerEntry;

// The new number for each old number.
using DeviceNumbers = std::map<std::uint16_t, std::uint16_t>;
void renumber(std::uint16_t& device, const DeviceNumbers& numbers);
// Does the same, unless the memory belongs to no device.
void renumber(Kind kind, std::uint16_t& device, const DeviceNumbers& numbers);
// Does the same for all devices that a process's rows name.
void renumber(MergedProcess& process, const DeviceNumbers& numbers);
[[nodiscard]] bool has_device(const LedgerEntry& entry);

// With more GPUs than kMaxDevices, GPUs with the same ordinal share it as their number. The same
// happens if an added report has several GPUs under one number, as earlier versions merged.
// Threads: one.
class MergedDevices {
 public:
  // Returns provisional numbers for sums, by the numbers of the report. `processes` are the
  // report's processes; their devices get their own ordinals.
  [[nodiscard]] DeviceNumbers add(const Report& report, std::vector<MergedProcess>& processes);
  // Returns final numbers by the provisional ones, and sets them in all processes that were added.
  [[nodiscard]] DeviceNumbers finish(std::vector<MergedProcess>& processes) const;

 private:
  using Own = std::pair<DeviceIdentity, std::uint16_t>;  // with the ordinal

  [[nodiscard]] std::uint16_t number_of(const MergedProcess& process, const ProcessDevice& device);

  std::map<Own, std::uint16_t> numbers_;
  std::set<DeviceIdentity> identities_;
  bool are_apart_ = true;
};

}  // namespace vramscope
