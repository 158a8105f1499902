// Reports of memory that ran out, and what is said of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reporter/view/text/oom_text.h"
#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr Page kPage{.width = 100};

inline Report refused() {
  Report report = sample_report();
  report.oom = sample_refusals();
  report.sites[2].refused_count = 1;
  report.sites[2].refused_bytes = 64 << 20;
  report.sites[2].totals = {};
  return report;
}

inline std::string text_of(const Report& report) {
  return render(oom_text(report, leaks_for_oom(report, sample_names()), sample_names(), kPage, 10),
                kPage);
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// What site 0 held is 45 blocks of 200 MiB that came all along; the event is the only one.
inline Report leaked() {
  Report report = refused();
  report.trigger = "exit";
  report.oom.events.pop_back();
  report.oom.events[0].reserved_bytes = 300 << 20;
  report.oom.events[0].split_free_bytes = 0;
  Site& site = report.sites[0];
  site.totals.live_bytes = site.totals.total_bytes = 200 << 20;
  site.totals.live_count = site.totals.total_count = 45;
  site.parts[0].totals = site.totals;
  site.live_by_age.assign(10, 20 << 20);
  return report;
}

// Of one refusal, by a limit of 1 GiB.
inline Report refused_by_limit(std::uint64_t bytes, std::uint64_t reserved_bytes) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.bytes = bytes;
  event.reserved_bytes = reserved_bytes;
  report.process.options = {{"device_memory_limit", "1GiB"}};
  return report;
}

}  // namespace vramscope
