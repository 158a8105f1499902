// A report as one screen shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/text/report_text.h"
#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr Page kPage{.width = 100};

inline Document document_of(const Report& report, const NameFrame& name, const Page& page,
                            std::size_t most) {
  return report_text({report, "r.json", leaked_of(report, name)}, name, page, most);
}

inline std::string screen(const Report& report, std::size_t most = kReportSites,
                          const ScreenRoom& room = {}) {
  return render(document_of(report, sample_names(), kPage, most), kPage, room);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace vramscope
