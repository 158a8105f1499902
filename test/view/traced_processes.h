// Processes with a trace each, for tests of what is taken from traces.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "reporter/base/facts.h"
#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

struct TracedChange {
  std::uint64_t at_ns = 0;  // since the boot
  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;
  bool came = true;
};
using TracedChanges = std::vector<TracedChange>;

struct TracedProcess {
  static constexpr std::uint64_t kBoot = 1'700'000'000'000'000'000;  // since 1970
  static constexpr std::uint64_t kBegin = 5;                         // since the boot
  static constexpr std::uint64_t kEnd = 10'000;

  std::int64_t pid = 0;
  TracedChanges changes;
  std::uint64_t boot_ns = kBoot;
  bool is_cut = false;  // the mark that ends a trace is missing
  std::vector<MarkFact> marks = {};
  std::uint64_t late_ns = 0;  // when the trace began; 0: with the run
};

// That allocates and frees once.
[[nodiscard]] TracedProcess traced_process(std::int64_t pid, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::uint64_t bytes);

// Writes traces to a folder, which is removed at the end.
class TracedProcesses : public testing::Test {
 protected:
  TracedProcesses();
  ~TracedProcesses() override;

  // As `report` has it: its trace was in another folder once, and lies beside it now.
  [[nodiscard]] ReportOfProcess report_of(const TracedProcess& run) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace vramscope
