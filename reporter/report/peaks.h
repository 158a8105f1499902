// make_kinds() makes the peaks of kinds of memory, make_joint_peaks() those of all kinds of a
// device together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// site_of_tag: index into the report's sites; -1: none. May throw bad_alloc, like all functions
// here.
[[nodiscard]] std::vector<KindFacts> make_kinds(const ReportParts& parts,
                                                const std::vector<std::int64_t>& site_of_tag);

// Includes what was live at the peak of all kinds together, by site and kind.
[[nodiscard]] std::vector<JointPeak> make_joint_peaks(const ReportParts& parts,
                                                      const std::vector<std::int64_t>& site_of_tag);

}  // namespace vramscope
