// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/named_memory_text.h"

#include <algorithm>
#include <vector>

#include "reporter/view/listing/format.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

constexpr std::size_t kHeapsShown = 8;
constexpr std::size_t kNamesShown = 5;  // of each heap

std::string name_of(const NamedHeap& heap) {
  std::string name = heap.name.empty() ? "(no name)" : heap.name;
  if (heap.address == 0 && heap.bytes == 0) name = "(in no pool)";
  return heap.is_live ? name : name + ", gone";
}

std::vector<std::string> cells(const std::string& size, const NamedRegions& regions,
                               std::string name) {
  return {amount_text(regions.peak_bytes),
          amount_text(regions.live_bytes),
          count_text(regions.live_count),
          count_text(regions.total_count),
          size,
          std::move(name)};
}

void add_heap(Table& table, const NamedHeap& heap) {
  table.add(cells(heap.bytes == 0 ? "" : amount_text(heap.bytes), heap.regions, name_of(heap)));
  std::vector<NamedRegions> names = heap.names;
  std::ranges::stable_sort(names, std::greater<>(), &NamedRegions::peak_bytes);
  const bool has_names = names.size() > 1 || (names.size() == 1 && !names.front().name.empty());
  if (!has_names) return;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    table.add(cells("", names[i], "  " + (names[i].name.empty() ? "(no name)" : names[i].name)));
  }
  if (names.size() > kNamesShown) {
    table.add_below("  and " + counted(names.size() - kNamesShown, "more name"));
  }
}

}  // namespace

Document named_memory_text(const Report& report) {
  Document text;
  if (!report.named_memory || report.chosen) return text;  // it is of all
  using enum Table::Align;
  Table table({{"PEAK", right},
               {"NOW", right},
               {"REGIONS", right},
               {"TOTAL", right},
               {"SIZE", right},
               {"POOL"}});
  std::vector<NamedHeap> heaps = report.named_memory->heaps;
  std::ranges::stable_sort(heaps, std::greater<>(),
                           [](const NamedHeap& heap) { return heap.regions.peak_bytes; });
  for (std::size_t i = 0; i < std::min(heaps.size(), kHeapsShown); ++i) add_heap(table, heaps[i]);
  const std::size_t rest = heaps.size() - std::min(heaps.size(), kHeapsShown);
  text.gap();
  text.heading("Pools of the program's own, as it named them (NVTX)");
  text.table(std::move(table), rest == 0 ? "" : "  and " + counted(rest, "more pool") + "\n");
  return text;
}

}  // namespace vramscope
