// Puts a page together: the bundle that the build made of reporter/view/page, and the report as
// JSON in the place that the bundle has for it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "reporter/report/memory_name.h"
#include "reporter/report/merge_numbers.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/site_fronts.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/page/page_sites.h"
#include "reporter/view/page/page_stacks.h"
#include "reporter/view/page/verdict.h"
#include "reporter/view/page/windows_json.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/timeline_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {

// What bundle.py wrote; empty where npm or its packages could not be had.
extern const char kPageBundle[];

namespace {

constexpr std::string_view kPlaceForData = "@@REPORT@@";
constexpr std::size_t kSites = 2000;  // shown one by one, where there is room
constexpr std::size_t kFewestSites = 50;
constexpr std::size_t kMostOfLine = 300;   // characters
constexpr std::size_t kMostOfText = 1000;  // of a warning
constexpr std::size_t kRefusals = 10;      // who held memory when it ran out
constexpr std::size_t kMarks = 500;        // instants of a trace

// What ran, where, and of a report when: a line each, as the report's screen begins.
std::string heading(const PageOf& of) {
  const Document head = report_head(of.report);
  const Page page{.unicode = true, .cuts = false};
  const std::size_t lines = of.timeline.is_of_trace ? 2 : 3;
  std::string result;
  for (std::size_t i = 0; i < std::min(lines, head.blocks().size()); ++i) {
    const std::string indent = i == 0 ? "" : "  ";
    result += (i == 0 ? "" : "\n") +
              shortened(indent + printable(head.blocks()[i].text, page), kMostOfLine);
  }
  return result;
}

// The call stacks of a page by site of the report, each of which is named once.
class SiteStacks {
 public:
  SiteStacks(const Report& report, const NameFrame& name)
      : report_(report), name_(name), fronts_(report, name) {}
  // 0: it has no stack yet, and is to have none.
  std::uint32_t node_of(std::size_t site, bool is_made) {
    const auto found = nodes_.find(site);
    if (found != nodes_.end()) return found->second;
    if (!is_made) return 0;
    const CallSite whole = call_site(report_, report_.sites[site], name_, kAllFrames);
    const std::uint32_t node = stacks_.add(whole);
    CallSite line = fronts_.of(site, kAllFrames);
    line.entry = whole.entry;
    stacks_.set_line(node, line);
    return nodes_[site] = node;
  }
  void write(JsonText& json) const { stacks_.write(json); }

 private:
  const Report& report_;
  const NameFrame& name_;
  FrontStacks fronts_;
  PageStacks stacks_;
  std::unordered_map<std::size_t, std::uint32_t> nodes_;
};

void write_totals(JsonText& json, const SiteTotals& totals, std::uint64_t temporary) {
  for (const std::uint64_t number :
       {totals.peak_bytes, totals.peak_count, totals.live_bytes, totals.live_count,
        totals.total_bytes, totals.total_count, totals.total_ns, temporary}) {
    json.value(number);
  }
}

const KindFacts* facts_of(const Report& report, const MemoryOnPage& memory) {
  for (const KindFacts& kind : report.kinds) {
    if (kind.kind == memory.kind && kind.device == memory.device) return &kind;
  }
  return nullptr;
}

void write_memory(JsonText& json, const Report& report, const PageSites& sites) {
  json.key("memory").array();
  for (const MemoryOnPage& memory : sites.memory) {
    const KindFacts* const facts = facts_of(report, memory);
    json.object().field("name", memory_name(report, memory.kind, memory.device));
    json.field("kind", kKindNames[static_cast<std::size_t>(memory.kind)]);
    json.field("device", memory.device).field("sites", memory.sites);
    json.field("peak_bytes", facts == nullptr ? 0 : facts->peak_bytes);
    json.field("peak_ns", facts == nullptr ? 0 : facts->peak_ns).key("totals").array();
    write_totals(json, memory.totals, memory.temporary_count);
    json.end().end();
  }
  json.end();
}

// Rows are the node of the site's call stack, its memory, and eight numbers.
void write_rows(JsonText& json, const PageSites& sites, SiteStacks& stacks) {
  json.key("rows").array();
  for (const PageRow& row : sites.rows) {
    json.array().value(stacks.node_of(row.site, true)).value(row.memory);
    write_totals(json, row.totals, row.temporary_count);
    json.end();
  }
  json.end().key("others").array();
  for (const PageRow& row : sites.others) {
    json.array();
    write_totals(json, row.totals, row.temporary_count);
    json.end();
  }
  json.end().field("shown", sites.shown).field("folded", sites.folded);
  json.field("folded_share_ppm", sites.folded_share_ppm);
}

using Counts = std::vector<std::uint64_t>;

// Over all sites, those that are folded too.
void write_histograms(JsonText& json, const PageOf& of) {
  Counts sizes;
  Counts lives;
  if (of.windows != nullptr) {
    for (const Counts& part : of.windows->sizes()) add_numbers(sizes, part);
    for (const Counts& part : of.windows->lives()) add_numbers(lives, part);
  }
  for (const Site& site : of.report.sites) {
    add_numbers(sizes, site.sizes);
    add_numbers(lives, site.lifetimes);
  }
  const auto write = [&](const char* key, const std::vector<std::uint64_t>& counts, auto name_of) {
    json.key(key).array();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      json.array().value(std::string(name_of(i))).value(counts[i]).end();
    }
    json.end();
  };
  write("sizes", sizes, size_class_name);
  write("lives", lives, lifetime_name);
}

// A trace may have more of them than a page has room for: peaks and the first of the others.
RunTimeline with_fewer_marks(RunTimeline timeline) {
  std::size_t others = 0;
  std::erase_if(timeline.marks, [&](const RunMark& mark) {
    return mark.what != RunMark::What::peak && ++others > kMarks;
  });
  timeline.ranges.clear();
  return timeline;
}

// All that does not depend on how many sites are shown: the fields before those, and after.
struct Fixed {
  std::string heading;
  std::vector<std::string> verdict;
  std::string owners;
  std::string timeline;
  std::string oom;
};

Fixed fixed_of(const PageOf& of, const NameFrame& name) {
  return {.heading = heading(of),
          .verdict = verdict(of, name),
          .owners = owners_json(of.report, 0),
          .timeline = timeline_json(with_fewer_marks(of.timeline), 0),
          .oom = oom_json(of.report, name, kRefusals)};
}

// Which of a row's eight numbers the input does not tell: a trace not which allocations were
// temporary, an import not how long calls took either.
void write_untold(JsonText& json, const PageOf& of) {
  constexpr int kTime = 6;
  constexpr int kTemporary = 7;
  const bool is_import = trigger_of(of.report) == Trigger::imported;
  json.key("untold").array();
  if (is_import) json.value(kTime);
  if (is_import || of.timeline.is_of_trace) json.value(kTemporary);
  json.end();
}

void write_head(JsonText& json, const PageOf& of, const Fixed& fixed) {
  const Report& report = of.report;
  json.field("file", harmless(of.path)).field("tool", VRAMSCOPE_VERSION);
  json.field("program", harmless(report.process.executable)).field("pid", report.process.pid);
  json.field("heading", fixed.heading).field("is_of_several", is_of_several(report));
  write_untold(json, of);
  json.field("filter", harmless(of.filter)).field("estimates", sampling_text(report));
  write_texts(json, "verdict", fixed.verdict);
  write_texts(json, "warnings", report.warnings);
  json.key("owners").json(fixed.owners).key("window");
  if (!of.window) {
    json.null();
    return;
  }
  json.array().value(of.window->first).value(of.window->second).end();
}

std::string data_of(const PageOf& of, const NameFrame& name, const Fixed& fixed,
                    std::size_t most_sites) {
  constexpr std::size_t kCellsOfSite = 4;
  JsonText json;
  SiteStacks stacks(of.report, name);
  write_head(json.object(), of, fixed);
  const PageSites sites = page_sites(of.report, most_sites);
  write_memory(json, of.report, sites);
  write_rows(json, sites, stacks);
  if (of.windows != nullptr) write_windows(json, *of.windows, sites);
  write_histograms(json, of);
  json.key("timeline").json(fixed.timeline).key("map");
  of.map.write(
      json, [&](std::size_t site, bool is_made) { return stacks.node_of(site, is_made); },
      kCellsOfSite * most_sites);
  stacks.write(json);
  json.key("oom").json(fixed.oom).key("diff").json(of.diff).key("runs").json(of.runs);
  json.key("ranks").json(of.ranks);
  json.key("advice").json(of.advice).key("fit").json(of.fit);
  return json_for_page(json.end().text());
}

// Where the text of JSON ends in which `at` is: at its quotation mark.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  while (json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at;
}

}  // namespace

void write_texts(JsonText& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).array();
  for (const std::string& text : texts) json.value(shortened(harmless(text), kMostOfText));
  json.end();
}

bool has_page() { return *kPageBundle != '\0'; }

std::string page_text(const PageOf& of, const NameFrame& name) {
  const std::string_view bundle = kPageBundle;
  const std::size_t place = bundle.find(kPlaceForData);
  const Fixed fixed = fixed_of(of, name);
  std::string data;
  std::size_t most = kSites;
  do {
    data = data_of(of, name, fixed, most);
    most /= 2;
  } while (bundle.size() + data.size() > kPageBytes && most >= kFewestSites);
  std::string page(bundle.substr(0, place));
  page += data;
  return page += bundle.substr(place + kPlaceForData.size());
}

std::string json_for_page(std::string_view json) {
  constexpr std::size_t kUnicodeEscape = 6;  // characters; JsonText writes so what may mislead
  std::string result;
  result.reserve(json.size());
  bool in_text = false;
  std::size_t text_begin = 0;  // of the text, in `result`
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!in_text && (c == ' ' || c == '\n')) continue;
    if (c == '"') {
      in_text = !in_text;
      text_begin = result.size();
    }
    const bool is_too_long = in_text && result.size() - text_begin > kMostOfText;
    if (is_too_long && (c & 0xc0) != 0x80) {  // where a character begins
      i = end_of_text(json, i);
      result += "..\"";
      in_text = false;
      continue;
    }
    if (c == '\\') {
      const std::string_view escape = json.substr(i, json[i + 1] == 'u' ? kUnicodeEscape : 2);
      const bool is_harmless = escape.size() == 2 || escape == "\\u000a" || escape == "\\ufffd";
      result += is_harmless ? escape : "?";
      i += escape.size() - 1;
    } else if (c == '<' || c == '>' || c == '&') {
      result += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else if (json.substr(i, 2) == "\xe2\x80" &&
               (json[i + 2] == '\xa8' || json[i + 2] == '\xa9')) {
      result += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace vramscope
