// Tells reserved and used memory of two runs, within bounds where these are all that is known.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/use_changes.h"

#include <optional>

#include "reporter/view/analysis/diff/one_report.h"
#include "reporter/view/text/change_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr const char* kAsBefore = ", as before";

Columns<GpuPeaks> use_fields() {
  using Row = GpuPeaks;
  return {{"requested_bytes", "requested, all kinds together",
           [](const Row& row) { return row.requested.upper; }},
          {"reserved_of_all_kinds_bytes",
           "upper bound of what was reserved: segments and uncached memory",
           [](const Row& row) { return row.reserved.upper; }},
          {"reserved_of_all_kinds_least_bytes", "at least",
           [](const Row& row) { return row.reserved.lower; }},
          {"used_bytes",
           "upper bound of the same plus contexts and code; `null`: contexts and code were not "
           "measured",
           [](const Row& row) { return row.used_at_most(); }}};
}

// " (-5.27 GiB to -4.03 GiB)", from the least and the most that it can have changed.
std::string bounded_change_text(const PeakBounds& before, const PeakBounds& after) {
  const auto least =
      static_cast<std::int64_t>(after.lower) - static_cast<std::int64_t>(before.upper);
  const auto most =
      static_cast<std::int64_t>(after.upper) - static_cast<std::int64_t>(before.lower);
  if (least <= 0 && most >= 0) return ": bounds, so the change is not known";
  const std::string one = change_text(least);
  const std::string other = change_text(most);
  return " (" + (one == other ? one : one + " to " + other) + ")";
}

std::string change_within_bounds(const std::string& name, const PeakBounds& before,
                                 const PeakBounds& after, bool is_of_one_report) {
  if (is_of_one_report) return name + interval_text(after) + kAsBefore;
  const bool is_exact = before.lower == before.upper && after.lower == after.upper;
  return is_exact ? whole_text(name, before.upper, after.upper)
                  : name + interval_text(before) + " -> " + interval_text(after) +
                        bounded_change_text(before, after);
}

std::string used_text(const UseChange& use) {
  const std::string name = use.after.gpu + ", used";
  const std::optional<PeakBounds> before = use.before.used();
  const std::optional<PeakBounds> after = use.after.used();
  if (before && after)
    return change_within_bounds(name + ", contexts and code included  ", *before, *after,
                                use.is_of_one_report);
  const auto side = [](const GpuPeaks& peaks, const std::optional<PeakBounds>& used) {
    return used ? interval_text(*used) : "at least " + amount_text(peaks.reserved.lower);
  };
  constexpr const char* kNotMeasured = ": contexts and code were not measured";
  if (use.is_of_one_report) return name + "  " + side(use.after, after) + kAsBefore + kNotMeasured;
  const std::string where = before ? " in the second run" : after ? " in the first run" : "";
  return name + "  " + side(use.before, before) + " -> " + side(use.after, after) + kNotMeasured +
         where;
}

bool tells_use(const GpuPeaks& peaks) { return peaks.lacks_outside || peaks.outside; }

}  // namespace

Columns<UseChange> use_change_fields() {
  using Row = UseChange;
  return {{"device", "number of the GPU in AFTER", &Row::device},
          {"before", "in BEFORE", use_fields(), &Row::before},
          {"after", "in AFTER", use_fields(), &Row::after}};
}

std::vector<UseChange> use_changes(const Report& before, const Report& after) {
  std::vector<UseChange> changes;
  const std::vector<GpuPeaks> uses = device_peaks(after);
  const bool is_one = is_one_report(before, after);
  for (const GpuPeaks& was : device_peaks(before)) {
    for (const GpuPeaks& is : uses) {
      if (is.device == was.device) changes.push_back({was.device, was, is, is_one});
    }
  }
  return changes;
}

Document use_changes_text(const std::vector<UseChange>& uses) {
  Document text;
  for (const UseChange& use : uses) {
    text.paragraph(change_within_bounds(use.after.gpu + ", reserved (all kinds)  ",
                                        use.before.reserved, use.after.reserved,
                                        use.is_of_one_report));
    if (tells_use(use.before) && tells_use(use.after)) text.paragraph(used_text(use));
  }
  return text;
}

}  // namespace vramscope
