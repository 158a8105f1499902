// Says in words and figures what pins memory, and draws the segments below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/map_caches_text.h"
#include "reporter/view/text/map_drawing.h"
#include "reporter/view/text/map_driver_text.h"
#include "reporter/view/text/map_refusal.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

std::string title_of(const MapPlace& place, const MapMoment& moment) {
  const std::string when = moment.at_ns == 0 ? "" : ", after " + duration_text(moment.at_ns);
  const bool is_its_peak = moment.peak_of == std::pair(place.kind, place.device);
  return memory_name(place.kind, place.device) + " " + (is_its_peak ? "at its peak" : moment.text) +
         when + ": " + amount_text(place.total_bytes) + " in " +
         counted(place.segments.size(), "segment");
}

// Whether segments are left out of what is shown of a kind and device.
bool has_chosen_rows(const Report& report) { return report.chosen && report.chosen->by_rows; }

std::string permille_text(std::uint64_t permille) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%u.%u %%", static_cast<unsigned>(permille / 10),
                static_cast<unsigned>(permille % 10));
  return buffer.data();
}

// What is served without asking the driver, after "the cache can still serve ".
std::string requests_text(const MapPlace& place) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  if (place.small_request_bytes != 0)
    parts.push_back("requests up to " + amount_text(place.small_request_bytes));
  if (place.large_request_bytes != 0) {
    parts.push_back((parts.empty() ? "requests above 1.00 MiB up to " : "larger ones up to ") +
                    amount_text(place.large_request_bytes));
  }
  std::vector<std::string> all;
  for (const std::uint64_t bytes : first_rows(place.whole_bytes, kShown)) {
    all.push_back(amount_text(bytes));
  }
  if (place.whole_bytes.size() > kShown) {
    all.push_back(counted(place.whole_bytes.size() - kShown, "more size"));
  }
  std::string sizes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sizes += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i];
  }
  if (!sizes.empty()) parts.push_back("requests that take a whole segment of " + sizes);
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result += (i == 0 ? "" : i + 1 == parts.size() ? ", and " : ", ") + parts[i];
  }
  return result;
}

// The segments are of Vramscope's cache, or of the allocator of another tool's file.
std::string still_serves_text(const Report& report, const MapPlace& place) {
  const bool is_others = trigger_of(report) == Trigger::imported;
  const std::string requests = requests_text(place);
  return std::string("without a new segment, ") +
         (is_others ? "the allocator" : "Vramscope's cache") +
         (requests.empty() ? " cannot serve any further request" : " can still serve " + requests);
}

// The measure of textbooks knows nothing of memory that can go back: it would be high where hardly
// anything is stranded, and is left out there.
std::string holes_text(const MapPlace& place) {
  std::string text = "largest free hole " + amount_text(place.largest_free_bytes) + " of " +
                     amount_text(place.free_bytes) + " free";
  if (place.largest_free_bytes == place.free_bytes) return text;
  if (place.stranded_bytes == 0) return text + "; every hole can be released";
  if (!is_fragmented(place.stranded_bytes, place.total_bytes)) return text;
  text += "; external fragmentation " + permille_text(external_fragmentation(place)) +
          " (1 - largest / free)";
  return place.returnable_bytes == 0 ? text : text + ", counting memory that can be released";
}

// Nothing is free in its segments: the title and the verdict say all.
bool is_full(const MapPlace& place) {
  return place.free_bytes == 0 && place.allocated_bytes == place.total_bytes;
}

Document figures(const Report& report, const PlaceAnswer& of, const MapMoment& moment) {
  using enum Table::Align;
  const MapPlace& place = *of.place;
  Table table({{"BYTES", right}, {"SHARE", right}, {"RESERVED MEMORY", left}});
  table.place_last(Table::Last::wrapped);
  const auto add = [&](std::uint64_t bytes, const std::string& what) {
    if (bytes != 0) table.add({amount_text(bytes), percent_text(bytes, place.total_bytes), what});
  };
  const std::uint64_t idle = place.returnable_bytes;
  add(place.allocated_bytes, "in " + counted(place.live_count, "block") + " (requested " +
                                 amount_text(place.requested_bytes) + ")");
  add(place.pending_bytes, "freed, but perhaps still in use");
  add(place.stranded_bytes, "stranded: free, but cannot be released");
  add(idle, place.idle_segments == 0
                ? "free pages, which can be released"
                : "idle: " + counted(place.idle_segments, "segment") + " without a live block");
  const bool is_told = is_full(place);
  Document text;
  text.table(std::move(table), "", is_told ? kWithBars : ShownIn());
  if (place.free_bytes != 0) text.paragraph(holes_text(place));
  if (!place.is_direct()) {
    text.paragraph(still_serves_text(report, place), is_told ? kUnlessRepeated : ShownIn());
    text.paragraph(new_segment_text(of), kUnlessRepeated);
  }
  if (moment.are_inferred && !place.is_direct()) {
    text.paragraph(
        "this trace tells no segments: drawn as far as blocks were seen in them, idle ones left "
        "out");
  }
  return text;
}

// Is it fragmentation?
std::string verdict(const Report& report, const PlaceAnswer& of, const MapMoment& moment) {
  const MapPlace& place = *of.place;
  std::string outside;
  std::uint64_t whole = place.total_bytes;  // of which stranded memory is a share
  for (const MapCache& cache : of.caches) {
    outside += (outside.empty() ? " outside " : " and ") + cache.name;
    whole -= std::min(whole, cache.bytes);
  }
  const std::string about = "Fragmentation" +
                            std::string(has_chosen_rows(report) ? " of what passes" : "") +
                            outside + ": ";
  if (place.kind == Kind::stream_ordered) {
    return about + "not known, because the driver's pools divide this memory" + kept_by_pools(of) +
           ".";
  }
  if (place.is_direct())
    return about + "none caused by Vramscope; the driver allocated each block separately.";
  const std::string where = of.caches.empty()       ? ""
                            : of.caches.size() == 1 ? " of the memory outside that cache"
                                                    : " of the memory outside those caches";
  const std::string stranded = amount_text(place.stranded_bytes) + " is stranded (" +
                               percent_text(place.stranded_bytes, whole) + where +
                               "): free beside live blocks, in " +
                               counted(place.stranded_segments, "segment");
  if (place.stranded_bytes == 0 && place.free_bytes == 0) {
    return about + "no, nothing in these segments is free.";
  }
  if (place.stranded_bytes == 0) {
    return about + "no, all free memory can be released to the driver.";
  }
  if (!is_fragmented(place.stranded_bytes, whole)) {
    const bool is_large_share = place.stranded_bytes > whole / 10;  // of a small amount
    return about +
           (of.refused && of.refused->is_of_stranding
                ? "little, but enough to refuse " + amount_text(moment.refused->bytes) + "; "
            : is_large_share ? "little in absolute terms; "
                             : "hardly any; ") +
           stranded + ".";
  }
  return about + "yes, " + stranded + ".";
}

RowsBlock pinners_table(const Report& report, const MapPlace& place, const MapMoment& moment,
                        const NameFrame& name, const Page& page, std::size_t most) {
  const Columns<MapPinner> columns =
      picked(pinner_columns(report, name, moment.at_ns),
             {"STRANDED", "SEGMENTS", "GIVES BACK", "BLOCKS", "OLDEST"});
  const auto below = [all = place.pinners.size()](std::size_t shown) {
    return and_more(all - shown, "row");
  };
  return rows_of_sites(report, name, columns, place.pinners, &MapPinner::site, "HELD BY", page,
                       most, below);
}

// Of the usual program, which has freed all that it had when it ends.
std::string nothing_live(const std::vector<PlaceAnswer>& answers, const MapMoment& moment) {
  const auto is_live = [](const PlaceAnswer& of) {
    return of.place->live_count != 0 || of.place->pending_bytes != 0;
  };
  if (answers.empty() || std::any_of(answers.begin(), answers.end(), is_live)) return "";
  const std::string how = moment.is_of_trace
                              ? "vramscope map --at peak FILE"
                              : "vramscope run --trace FILE, then vramscope map --at peak FILE";
  return "No block was live " + moment.text + ". To see memory at its peak: " + how;
}

}  // namespace

Document map_text(const Report& report, const std::vector<PlaceAnswer>& answers,
                  const MapMoment& moment, const NameFrame& name, const Page& page,
                  std::size_t most) {
  Document text;
  for (const PlaceAnswer& of : answers) {
    const MapPlace& place = *of.place;
    if (!text.is_empty()) text.gap();
    text.title(title_of(place, moment));
    text.paragraph(moment.remark);
    text.paragraph(verdict(report, of, moment));
    text.append(map_caches_text(of.caches, place));
    text.append(figures(report, of, moment));
    text.paragraph(refused_then_text(of, moment));
    if (!place.pinners.empty()) text.table(pinners_table(report, place, moment, name, page, most));
    const bool is_told = &of != &answers.front() && is_full(place);
    for (RowsBlock& drawing : map_drawings(report, place, moment, name, page, most)) {
      text.drawing(std::move(drawing), is_told ? ShownIn{.to = Brevity::no_bars} : ShownIn());
    }
  }
  if (!text.is_empty()) {
    const std::string nothing = nothing_live(answers, moment);
    if (!nothing.empty()) text.gap();
    text.sentence(nothing);
    return text;
  }
  if (is_merged(report)) {
    text.sentence("A merged report has no segments; those of each process are in its own report.");
  } else if (report.chosen) {
    text.nothing(std::string(kNothingPasses) + "live " + moment.text + ".");
  } else {
    text.line("No segment was held " + moment.text + ".");
  }
  return text;
}

}  // namespace vramscope
