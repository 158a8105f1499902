// Draws levels.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/device_levels.h"

#include <algorithm>
#include <string_view>

#include "reporter/report/memory_name.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kBesideBar = 58;  // columns of a usual level without its bar and its name
constexpr std::size_t kNameCells = 9;   // of a level's name: "allocated"
constexpr std::string_view kPeak = "peak";

struct Level {
  std::string name;
  std::string_view word = kPeak;  // before its height
  std::optional<std::uint64_t> height = {};
  std::string end;
};

std::string text_of(const UsedDevice& device, const Level& level, std::size_t name_cells,
                    const Page& page) {
  constexpr std::size_t kBytes = 9;
  const std::uint64_t whole = level.height ? capacity(device) : 0;
  std::string text = level.name;
  text.resize(name_cells, ' ');
  std::string bytes = level.height ? amount_text(*level.height) : "not known";
  const std::size_t width = device.adds_peaks ? kBytes : kBytes + kPeak.size() - level.word.size();
  bytes.insert(0, width - std::min(width, bytes.size()), ' ');
  text += "  " + std::string(device.adds_peaks ? "sum of peaks" : level.word) + " " + bytes;
  if (whole != 0) {
    const std::size_t beside = kBesideBar + name_cells;  // all bars of a GPU are of one scale
    const std::size_t cells = std::min(kBarCells, page.width - std::min(page.width, beside));
    if (cells != 0) text += "  [" + bar(*level.height, whole, cells, page) + "]";
    text += "  " + percent_text(*level.height, whole) + " of " + bytes_text(whole);
  }
  return text + level.end;
}

// "used at least 6.89 GiB of 140 GiB: contexts and code of this process were not measured
// separately; contexts, code and other processes together took 22.6 GiB, measured 647 ms before the
// report".
std::string used_at_least(const UsedDevice& device) {
  const GpuPeaks& use = *device.use;
  const std::uint64_t whole = capacity(device);
  std::string text = "used at least " + amount_text(use.reserved.lower) +
                     (whole == 0 ? "" : " of " + bytes_text(whole)) + ": contexts and code of " +
                     (device.adds_peaks ? "the processes" : "this process") + " were not measured";
  if (!use.last_seen) return text;
  const std::uint64_t age_ns = use.last_seen->age_ns;
  return text + " separately; " + std::string(kContextsAndOthers) + " together took " +
         amount_text(use.last_seen->bytes) + ", measured " +
         (age_ns == 0 ? "with" : duration_text(age_ns) + " before") + " the report";
}

}  // namespace

std::uint64_t capacity(const UsedDevice& device) {
  if (device.report == nullptr || device.adds_peaks) return 0;
  const DeviceFacts& facts = device.report->facts;
  const bool is_limited = facts.limit_bytes != 0 && facts.limit_bytes < facts.total_bytes;
  return is_limited ? facts.limit_bytes : facts.total_bytes;
}

std::size_t name_cells_of(const UsedDevice& device) {
  std::size_t cells = kNameCells;
  for (const KindFacts& kind : device.others) {
    cells = std::max(cells, kind_text(kind.kind).size());
  }
  return cells;
}

std::string level_text(const UsedDevice& device, const std::string& name, std::size_t name_cells,
                       std::optional<std::uint64_t> peak, std::int64_t now, const Page& page) {
  return text_of(device, {.name = name, .height = peak, .end = ", now " + bytes_text(now)},
                 name_cells, page);
}

void add_used_level(Document& text, const UsedDevice& device, std::size_t name_cells,
                    const std::string& whose, const Page& page) {
  if (!device.use) return;
  if (device.use->lacks_outside) return text.paragraph(whose + used_at_least(device));
  const std::optional<PeakBounds> used = device.use->used();
  if (!used || *device.use->outside == 0) return;
  const bool is_exact = used->lower == used->upper;
  const std::string end =
      ", including " + amount_text(*device.use->outside) + " of contexts and code";
  const std::string word = device.adds_peaks ? "sum of peaks " : is_exact ? "peak " : "up to ";
  text.paragraph(whose + text_of(device,
                                 {.name = "used",
                                  .word = is_exact ? kPeak : "up to",
                                  .height = used->upper,
                                  .end = end},
                                 name_cells, page),
                 kWithBars);
  text.paragraph(whose + "used " + word + amount_text(used->upper) + end, kWithoutBars);
}

std::string reserved_words(const UsedDevice& device) {
  return device.use ? ", " + bounds_text(device.use->reserved) + " reserved" : "";
}

}  // namespace vramscope
