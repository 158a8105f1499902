// Says in words and figures what pins memory, and draws the segments below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/map_cells.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/map_caches_text.h"
#include "reporter/view/text/map_driver_text.h"
#include "reporter/view/text/map_refusal.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kMostWidth = 240;  // of rows of characters, however wide the page is
constexpr std::size_t kFramesOfPin = 3;  // below a segment; the table above has the whole row

std::string title_of(const MapPlace& place, const MapMoment& moment) {
  return memory_name(place.kind, place.device) + " " + moment.text + ", after " +
         duration_text(moment.at_ns) + ": " + amount_text(place.total_bytes) + " in " +
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

// What is served without asking the driver.
std::string requests_text(const MapPlace& place) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  if (place.small_request_bytes != 0)
    parts.push_back("requests up to " + amount_text(place.small_request_bytes));
  if (place.large_request_bytes != 0) {
    parts.push_back((parts.empty() ? "requests above 1.00 MiB up to " : "larger ones up to ") +
                    amount_text(place.large_request_bytes));
  }
  std::string sizes;
  for (std::size_t i = 0; i < std::min(kShown, place.whole_bytes.size()); ++i) {
    sizes += (i == 0 ? "" : ", ") + amount_text(place.whole_bytes[i]);
  }
  if (place.whole_bytes.size() > kShown) {
    sizes += " and " + counted(place.whole_bytes.size() - kShown, "size") + " more";
  }
  if (!sizes.empty()) parts.push_back("whole segments of " + sizes);
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : ", ") + part;
  return result.empty() ? "nothing more" : result;
}

// The measure of textbooks knows nothing of memory that can go back: it would be high where hardly
// anything is stranded, and is left out there.
std::string holes_text(const MapPlace& place) {
  std::string text = "largest free hole " + amount_text(place.largest_free_bytes) + " of " +
                     amount_text(place.free_bytes) + " free";
  if (place.largest_free_bytes == place.free_bytes) return text;
  if (place.stranded_bytes == 0) return text + "; each can go back";
  if (!is_fragmented(place.stranded_bytes, place.total_bytes)) return text;
  text += "; external fragmentation " + permille_text(external_fragmentation(place)) +
          " (1 - largest / free)";
  return place.returnable_bytes == 0 ? text : text + ", counting what can go back";
}

// Nothing is free in its segments: the title and the verdict say all.
bool is_full(const MapPlace& place) {
  return place.free_bytes == 0 && place.allocated_bytes == place.total_bytes;
}

std::string figures(const PlaceAnswer& of, const MapMoment& moment, const Page& page) {
  const MapPlace& place = *of.place;
  using enum Table::Align;
  Table table({{"BYTES", right}, {"SHARE", right}, {"OF WHAT IS RESERVED", left}});
  table.place_last(Table::Last::wrapped);
  const auto add = [&](std::uint64_t bytes, const std::string& what) {
    if (bytes != 0) table.add({amount_text(bytes), percent_text(bytes, place.total_bytes), what});
  };
  const std::uint64_t idle = place.returnable_bytes;
  add(place.allocated_bytes, "in " + counted(place.live_count, "block") + " (requested " +
                                 amount_text(place.requested_bytes) + ")");
  add(place.pending_bytes, "freed, but perhaps in use yet");
  add(place.stranded_bytes, "stranded: free, and cannot go back");
  add(idle, place.idle_segments == 0
                ? "free pages, which can go back"
                : "idle: " + counted(place.idle_segments, "segment") + " without a live block");
  const bool is_told = page.brevity >= Brevity::no_bars && is_full(place);
  std::string result = table.empty() || is_told ? "" : table.text(page);
  if (place.free_bytes != 0) result += paragraph(holes_text(place), page);
  if (!place.is_direct() && !(page.brevity >= Brevity::no_repeats && is_full(place))) {
    result += paragraph("the cache can still serve, without a new segment: " + requests_text(place),
                        page);
    const std::string more = new_segment_text(of);
    if (!more.empty() && page.brevity == Brevity::none) result += paragraph(more, page);
  }
  if (moment.are_inferred && !place.is_direct()) {
    result += paragraph(
        "this trace tells no segments: drawn as far as blocks were seen in them, idle ones left "
        "out",
        page);
  }
  return result;
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
    return about + "nobody knows, the driver's pools cut these" + kept_by_pools(of) + ".";
  }
  if (place.is_direct()) return about + "none by Vramscope, the driver gave each block separately.";
  const std::string stranded =
      amount_text(place.stranded_bytes) + " (" + percent_text(place.stranded_bytes, whole) +
      (of.caches.empty() ? "" : " of what lies there") +
      ") is stranded: free beside live blocks, in " + counted(place.stranded_segments, "segment");
  if (place.stranded_bytes == 0 && place.free_bytes == 0) {
    return about + "no, nothing in these segments is free.";
  }
  if (place.stranded_bytes == 0) {
    return about + "no, all that is free can go back to the driver.";
  }
  if (!is_fragmented(place.stranded_bytes, whole)) {
    const bool is_large_share = place.stranded_bytes > whole / 10;  // of a small amount
    return about +
           (of.refused && of.refused->is_of_stranding
                ? "little, but enough to refuse " + amount_text(moment.refused->bytes) + ": "
            : is_large_share ? "little, "
                             : "hardly, ") +
           stranded + ".";
  }
  return about + "yes, " + stranded + ".";
}

std::string pinners_table(const Report& report, const MapPlace& place, const MapMoment& moment,
                          const NameFrame& name, const Page& page, std::size_t most) {
  if (place.pinners.empty()) return "";
  const Columns<MapPinner> columns =
      picked(pinner_columns(report, name, moment.at_ns),
             {"STRANDED", "SEGMENTS", "GIVES BACK", "BLOCKS", "OLDEST"});
  return site_listing(report, name, columns, first_rows(place.pinners, most), &MapPinner::site,
                      "PINNED BY", page)
             .text(page) +
         and_more(place.pinners.size() - rows_shown(place.pinners.size(), most), "row");
}

const char* name_of(MapPool pool) {
  switch (pool) {
    case MapPool::small:
      return "small pool (1 MiB and less)";
    case MapPool::large:
      return "large pool";
    case MapPool::dedicated:
      return "segments of one block";
    case MapPool::direct:
      return "from the driver itself";
  }
  return "";
}

// One pool's segments, all to the same scale.
class Drawing {
 public:
  Drawing(const Report& report, const MapMoment& moment, const NameFrame& name, const Page& page)
      : report_(report),
        moment_(moment),
        name_(name),
        page_(page),
        columns_(std::clamp(page.width, kLeastWidth, kMostWidth) - 6) {}

  [[nodiscard]] std::string text(const std::vector<const MapSegment*>& segments, std::size_t most) {
    std::uint64_t largest = 0;
    for (const MapSegment* one : segments) largest = std::max(largest, one->facts->total_size);
    unit_ = bytes_of_cell(largest, columns_);
    std::string body;
    std::size_t drawn_alone = 0;
    std::vector<const MapSegment*> others, idle;
    for (const MapSegment* one : segments) {
      if (one->is_idle() && most != 0) {
        idle.push_back(one);
      } else if (one->stranded_bytes() == 0) {
        others.push_back(one);
      } else if (most == 0 || drawn_alone++ < most) {
        body += with_pin(*one);
      } else {
        ++left_out_;
      }
    }
    body += packed(others, most) + idle_text(idle);
    if (left_out_ != 0) {
      body += "  and " + counted(left_out_, "more segment") + ": -n 0 draws all\n";
    }
    return head(segments) + body;
  }

 private:
  // "idle, all of it free: 3 of 20.0 MiB, 1 of 2.00 MiB": there is nothing to see in them.
  std::string idle_text(const std::vector<const MapSegment*>& idle) const {
    constexpr std::size_t kSizesNamed = 4;
    std::map<std::uint64_t, std::size_t, std::greater<>> sizes;
    for (const MapSegment* one : idle) ++sizes[one->facts->total_size];
    std::string text;
    std::size_t named = 0;
    for (const auto& [bytes, count] : sizes) {
      if (named++ == kSizesNamed) {
        text += " and " + counted(sizes.size() - kSizesNamed, "size") + " more";
        break;
      }
      text += (text.empty() ? "idle, all of it free: " : ", ") + count_text(count) + " of " +
              amount_text(bytes);
    }
    return text.empty() ? "" : paragraph(text + " (-n 0 draws them)", page_);
  }

  std::string head(const std::vector<const MapSegment*>& segments) const {
    std::uint64_t total = 0;
    for (const MapSegment* one : segments) total += one->facts->total_size;
    std::string title = std::string(name_of(segments.front()->pool)) + ": " +
                        counted(segments.size(), "segment") + ", " + amount_text(total);
    if (seen_ != 0) title += "; a character is " + amount_text(unit_);
    return "\n" + paragraph(title, Colour::bold, page_) +
           (seen_ == 0 ? "" : paragraph(legend(seen_, page_), page_));
  }

  std::vector<Cell> cells(const MapSegment& segment) {
    std::vector<Cell> result = cells_of(segment, unit_);
    for (const Cell cell : result) seen_ |= 1U << static_cast<unsigned>(cell);
    return result;
  }

  std::string with_pin(const MapSegment& segment) {
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "0x%llx",
                  static_cast<unsigned long long>(segment.facts->address));
    std::string result =
        paragraph(amount_text(segment.facts->total_size) + " at " + address.data() + ": " +
                      amount_text(segment.free_bytes) + " free, largest hole " +
                      amount_text(segment.largest_free_bytes),
                  page_);
    const std::vector<Cell> all = cells(segment);
    for (std::size_t at = 0; at < all.size(); at += columns_) {
      result += "    |" + drawn(all, at, columns_, page_) + "|\n";
    }
    return result + (segment.pin == MapSegment::kNoPin ? "" : pin_text(segment));
  }

  std::string pin_text(const MapSegment& segment) const {
    const BlockFacts& block = segment.facts->blocks[segment.pin];
    std::string gives = segment.gives_back_bytes == 0
                            ? "a hole of " + amount_text(segment.hole_bytes)
                            : amount_text(segment.gives_back_bytes) + " back to the driver";
    if (segment.live_count > 1) gives += " (1 of " + counted(segment.live_count, "block") + ")";
    std::string text = "@ " + amount_text(block.size);
    if (block.requested_size != block.size && block.requested_size != 0)
      text += " (requested " + amount_text(block.requested_size) + ")";
    const std::string age = age_text(block.born_ns, moment_.at_ns);
    if (!age.empty()) text += ", " + age + " old";
    text += "; its free gives " + gives + ": ";
    return paragraph(text + where_text(report_, block.site, name_, page_, kFramesOfPin), page_, 4);
  }

  // Those without stranded bytes, one after the other on as few rows as they need.
  std::string packed(const std::vector<const MapSegment*>& segments, std::size_t most) {
    std::string result, row = "|";
    std::size_t used = 1, rows = 0;
    const auto end_row = [&] {
      result += "    " + row + "\n";
      row = "|";
      used = 1;
      ++rows;
    };
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::vector<Cell> all = cells(*segments[i]);
      if (used != 1 && used + std::min(all.size(), columns_) > columns_ + 1) end_row();
      if (most != 0 && rows >= most) {
        left_out_ += segments.size() - i;
        return result;
      }
      for (std::size_t at = 0; at < all.size(); at += columns_) {
        if (at != 0) end_row();
        row += drawn(all, at, columns_, page_);
        used += std::min(columns_, all.size() - at);
      }
      row += "|";
      ++used;
    }
    if (used != 1) end_row();
    return result;
  }

  const Report& report_;
  const MapMoment& moment_;
  const NameFrame& name_;
  const Page& page_;
  const std::size_t columns_;
  std::uint64_t unit_ = 1;
  std::uint32_t seen_ = 0;  // cells, a bit each
  std::size_t left_out_ = 0;
};

std::string drawings(const Report& report, const MapPlace& place, const MapMoment& moment,
                     const NameFrame& name, const Page& page, std::size_t most) {
  std::array<std::vector<const MapSegment*>, 4> pools;
  for (const MapSegment& segment : place.segments) {
    pools[static_cast<std::size_t>(segment.pool)].push_back(&segment);
  }
  std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) {
    const auto stranded = [](const auto& pool) {
      return pool.empty() ? 0 : pool.front()->stranded_bytes();
    };
    return stranded(a) > stranded(b);
  });
  std::string result;
  for (const auto& pool : pools) {
    if (!pool.empty()) result += Drawing(report, moment, name, page).text(pool, most);
  }
  return result;
}

// Of the usual program, which has freed all that it had when it ends.
std::string nothing_live(const std::vector<PlaceAnswer>& answers, const MapMoment& moment,
                         const Page& page) {
  const auto is_live = [](const PlaceAnswer& of) {
    return of.place->live_count != 0 || of.place->pending_bytes != 0;
  };
  if (answers.empty() || std::any_of(answers.begin(), answers.end(), is_live)) return "";
  const std::string how = moment.is_of_trace
                              ? "vramscope map --at peak FILE"
                              : "vramscope run --trace FILE, then map --at peak FILE,";
  return "\n" + sentence("No block was live any more " + moment.text + ": " + how +
                             " shows memory at its fullest.",
                         page);
}

}  // namespace

std::string map_text(const Report& report, const std::vector<PlaceAnswer>& answers,
                     const MapMoment& moment, const NameFrame& name, const Page& page,
                     std::size_t most) {
  std::string result;
  for (const PlaceAnswer& of : answers) {
    const MapPlace& place = *of.place;
    if (!result.empty()) result += "\n";
    result += sentence(title_of(place, moment), Colour::bold, page);
    if (!moment.remark.empty()) result += paragraph(moment.remark, page);
    result +=
        paragraph(verdict(report, of, moment), page) + map_caches_text(of.caches, place, page);
    result += figures(of, moment, page) + refused_then_text(of, moment, page);
    result += pinners_table(report, place, moment, name, page, most);
    const bool is_later = &of != &answers.front();
    if (is_later && page.brevity == Brevity::least && is_full(place)) continue;
    result += drawings(report, place, moment, name, page, most);
  }
  if (!result.empty()) return result + nothing_live(answers, moment, page);
  return !is_merged(report)
             ? (report.chosen ? std::string(kNothingPasses) + "live " : "No segment was held ") +
                   moment.text + ".\n"
             : sentence(
                   "A merged report has no segments; those of each process are in its own report.",
                   page);
}

}  // namespace vramscope
