// Puts a page together: the bundle that the build made of reporter/view/page, and the report as
// JSON in the place that the bundle has for it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/html/page.h"

#include <algorithm>
#include <array>

#include "reporter/report/report.h"
#include "reporter/view/html/page_map.h"
#include "reporter/view/html/page_sites.h"
#include "reporter/view/html/page_stacks.h"
#include "reporter/view/html/trace_windows.h"
#include "reporter/view/html/verdict.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/site_numbers.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {

// What bundle.py wrote; empty where npm or its packages could not be had.
extern const char kPageBundle[];

namespace {

constexpr std::string_view kPlaceForData = "@@REPORT@@";
constexpr std::size_t kSites = 2000;  // shown one by one, where there is room
constexpr std::size_t kFewestSites = 50;
constexpr std::size_t kMostOfLine = 300;   // characters
constexpr std::size_t kMostOfText = 1000;  // of a warning
constexpr std::size_t kRefusals = 10;      // moments at which memory ran out

// The lines at the top of the report's screen: what ran, where, and of a report when.
std::string heading(const PageOf& of, const NameFrame& name) {
  const Page page{.unicode = true, .cuts = false};
  const std::string text = report_text(of.report, of.path, name, page, 1);
  const std::size_t lines = of.timeline.is_of_trace ? 2 : 3;
  std::string result;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lines && begin < text.size(); ++i) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += (i == 0 ? "" : "\n") + shortened(text.substr(begin, end - begin), kMostOfLine);
    begin = end + 1;
  }
  return result;
}

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
    json.object().field("name", memory_text(memory.kind, memory.device));
    json.field("kind", kKindNames[static_cast<std::size_t>(memory.kind)]);
    json.field("device", memory.device).field("sites", memory.sites);
    json.field("peak_bytes", facts == nullptr ? 0 : facts->peak_bytes);
    json.field("peak_ns", facts == nullptr ? 0 : facts->peak_ns).key("totals").array();
    write_totals(json, memory.totals, memory.temporary_count);
    json.end().end();
  }
  json.end();
}

// Rows are the number of the site in the file, its node, its memory, and eight numbers.
void write_rows(JsonText& json, const Report& report, const PageSites& sites,
                const NameFrame& name) {
  PageStacks stacks;
  std::size_t site = PageRow::kOthers;
  std::uint32_t node = 0;
  json.key("rows").array();
  for (const PageRow& row : sites.rows) {
    if (row.site != site) {
      site = row.site;
      node = stacks.add(call_site(report, report.sites[site], name, kAllFrames));
    }
    json.array().value(site_number(report, row.site)).value(node).value(row.memory);
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
  stacks.write(json);
}

using Counts = std::vector<std::uint64_t>;

void add_to(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& counts) {
  sums.resize(std::max(sums.size(), counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

// Over all sites, those that are folded too.
void write_histograms(JsonText& json, const PageOf& of) {
  std::vector<std::uint64_t> sizes = of.windows == nullptr ? Counts() : of.windows->sizes();
  std::vector<std::uint64_t> lives = of.windows == nullptr ? Counts() : of.windows->lives();
  for (const Site& site : of.report.sites) {
    add_to(sizes, site.sizes);
    add_to(lives, site.lifetimes);
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

void write_texts(JsonText& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).array();
  for (const std::string& text : texts) json.value(shortened(harmless(text), kMostOfText));
  json.end();
}

std::string data_of(const PageOf& of, const NameFrame& name, std::size_t most_sites) {
  const Report& report = of.report;
  JsonText json;
  json.object().field("file", harmless(of.path)).field("tool", VRAMSCOPE_VERSION);
  json.field("program", harmless(report.process.executable)).field("pid", report.process.pid);
  json.field("heading", heading(of, name)).field("of_trace", of.timeline.is_of_trace);
  json.field("estimates", sampling_text(report));
  write_texts(json, "verdict", verdict(of, name));
  write_texts(json, "warnings", report.warnings);
  json.key("owners").json(owners_json(report, 0));
  const PageSites sites = page_sites(report, most_sites);
  write_memory(json, report, sites);
  write_rows(json, report, sites, name);
  if (of.windows != nullptr) of.windows->write(json, sites);
  write_histograms(json, of);
  json.key("timeline").json(timeline_json(of.timeline, 0));
  write_map(json, of, name, most_sites);
  json.key("oom").json(oom_json(report, name, kRefusals));
  json.key("diff").json(of.diff).key("runs").json(of.runs);
  return json_for_page(json.end().text());
}

// Where the text of JSON ends in which `at` is: at its quotation mark.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  while (json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at;
}

}  // namespace

bool has_page() { return *kPageBundle != '\0'; }

std::string page_text(const PageOf& of, const NameFrame& name) {
  const std::string_view bundle = kPageBundle;
  const std::size_t place = bundle.find(kPlaceForData);
  std::string data;
  std::size_t most = kSites;
  do {
    data = data_of(of, name, most);
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
