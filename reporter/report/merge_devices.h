// MergedDevices gives a number to each GPU of several processes, by which a merged report has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/report/gpus.h"

namespace vramscope {

struct LedgerEntry;

// By the number that something had.
using DeviceNumbers = std::map<std::uint16_t, std::uint16_t>;
void renumber(std::uint16_t& device, const DeviceNumbers& numbers);
// Likewise, unless the memory belongs to no device.
void renumber(Kind kind, std::uint16_t& device, const DeviceNumbers& numbers);
[[nodiscard]] bool has_device(const LedgerEntry& entry);

// Of more GPUs than kMaxDevices, those with one ordinal have one number: that. So it is if a report
// that was added has more than one GPU under a number, as earlier versions merged. Threads: one.
class MergedDevices {
 public:
  // Numbers for the sums meanwhile, by those of the report, whose processes these are: their
  // devices get their own ordinals.
  [[nodiscard]] DeviceNumbers add(const Report& report, std::vector<MergedProcess>& processes);
  // Numbers for good, by those; also for all processes that were added.
  [[nodiscard]] DeviceNumbers finish(std::vector<MergedProcess>& processes) const;

 private:
  static void renumber_all(MergedProcess& process, const DeviceNumbers& numbers);

  using Own = std::pair<DeviceIdentity, std::uint16_t>;  // with the ordinal

  [[nodiscard]] std::uint16_t number_of(const MergedProcess& process, const ProcessDevice& device);

  std::map<Own, std::uint16_t> numbers_;
  std::set<DeviceIdentity> identities_;
  bool are_apart_ = true;
};

}  // namespace vramscope
