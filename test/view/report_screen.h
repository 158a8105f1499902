// A report as one screen shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/text/report_text.h"
#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr Page kPage{.width = 100};

inline std::string screen(const Report& report, std::size_t most = kReportSites) {
  return report_text(report, "r.json", sample_names(), kPage, most);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace vramscope
