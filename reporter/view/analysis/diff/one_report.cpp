// Compares whose reports these are, and when they were made.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/one_report.h"

#include <algorithm>
#include <vector>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

// Files of other tools do not tell their process.
bool is_same(const MergedProcess& a, const MergedProcess& b) {
  return a.process.pid != 0 && identity_of(a.process) == identity_of(b.process) &&
         a.sequence == b.sequence && a.trigger == b.trigger &&
         a.process.report_time_ns == b.process.report_time_ns;
}

}  // namespace

bool is_one_report(const Report& before, const Report& after) {
  if (!before.file.empty() && before.file == after.file) return true;
  const std::vector<MergedProcess> first = merged_processes(before);
  const std::vector<MergedProcess> second = merged_processes(after);
  return std::equal(first.begin(), first.end(), second.begin(), second.end(), is_same);
}

}  // namespace vramscope
