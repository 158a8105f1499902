// Two builds of a program, whose reports are compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/analysis/diff/diff.h"
#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr std::uint64_t kMiB = 1 << 20;

// A report whose frame i is of `names[i]`, at an address that depends on the build.
struct Build {
  Report report;
  std::vector<SourceFrame> names;
  std::uint64_t first_offset = 0;

  std::uint32_t frame(const std::string& function, int line,
                      const std::string& file = "/src/train.cpp") {
    names.push_back({function, file, line});
    report.frames.push_back({.module = 0, .offset = first_offset + names.size()});
    return static_cast<std::uint32_t>(names.size() - 1);
  }
  void site(std::vector<std::uint32_t> frames, std::uint64_t peak) {
    const SiteTotals totals{.live_bytes = peak / 2,
                            .live_count = 1,
                            .peak_bytes = peak,
                            .peak_count = 1,
                            .total_bytes = 3 * peak,
                            .total_count = 3,
                            .total_ns = 1};
    report.sites.push_back({.frames = std::move(frames),
                            .totals = totals,
                            .parts = {{.kind = Kind::device, .device = 0, .totals = totals}}});
    if (report.kinds.empty()) report.kinds = {{.kind = Kind::device}};
    report.kinds[0].peak_bytes += peak;
    report.kinds[0].current_bytes += peak / 2;
  }
};

inline Build build(std::uint64_t first_offset) {
  Build made;
  made.first_offset = first_offset;
  made.report.modules = {{.path = "/app/train", .build_id = std::to_string(first_offset)}};
  return made;
}

inline NameFrame names_of(const Build& before, const Build& after) {
  return [&](const Report& report, const FrameFact& frame) -> std::vector<SourceFrame> {
    const Build& of = &report == &before.report ? before : after;
    return {of.names.at(frame.offset - of.first_offset - 1)};
  };
}

inline Differences compare(const Build& before, const Build& after, DiffBy by = DiffBy::site,
                           DiffAt at = DiffAt::peak) {
  return differences(before.report, after.report, by, at, names_of(before, after));
}

}  // namespace vramscope
