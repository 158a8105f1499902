// Reads each trace up to the second instant, and judges what is held then.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/check_between.h"

#include <algorithm>
#include <utility>

#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/instant_input.h"
#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

TraceTrouble judge(TraceReader& reader, const BetweenArguments& given,
                   std::optional<HeldBetween>& found) {
  TraceFollower whole(reader);
  if (!whole.follow({})) return trouble_of(whole);
  const auto from = instant_of(whole, given.instants[0], "--between");
  const auto to = from ? instant_of(whole, given.instants[1], "--between") : std::nullopt;
  if (!to) return trouble_of(whole);
  if (to->at_ns < from->at_ns) {
    return {.missing = "has " + shell_word(given.instants[1]) + " before " +
                       shell_word(given.instants[0]) +
                       "; --between takes the earlier instant first"};
  }
  Filter until = given.filter;
  until.to = std::to_string(to->at_ns) + "ns";
  TraceFollower trace(reader, until, names_from_symbols());
  if (trace.missing().empty()) found = held_between(trace, *from, *to, {});
  return trouble_of(trace);
}

// The trace that answers; nothing: none does, which was said.
std::optional<std::string> trace_in(const std::string& file, const BetweenArguments& given) {
  if (is_trace(file) || (is_import(file) && !is_memory_snapshot(file))) return file;
  std::string path = file;
  const std::optional<Report> report = open_report(path, given.reading);
  return report ? trace_of(path, *report, given.instants[0], "--between") : std::nullopt;
}

int publish_all(const BetweenArguments& given, const std::vector<JudgedBetween>& all) {
  const NameFrame name = names_from_symbols();
  const RowChoice rows = given.listing.rows();
  if (given.listing.csv) {
    return publish_csv(given.listing, [&](CsvText& csv) { add_between_csv(csv, all, name, rows); });
  }
  if (given.listing.json) {
    return publish(given.listing, between_json(all, name, given.listing.most));
  }
  Page page = page_of(given.listing);
  page.of_trace = true;
  page.filters = typed_options(given.filter);
  Document text = filter_head(given.filter);
  text.append(between_text(all, name, page, rows));
  text.next("peak --at " + shell_word(given.instants[1]), all.front().file);
  return publish(given.listing, render(text, page));
}

}  // namespace

int check_between(const BetweenArguments& given) {
  if (given.filter.has_times())
    return refuse("check: --between has the times, and does not go with --from and --to");
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({names_of(held_columns(Report(), {}))});
  const std::vector<std::string> files = report_files(given.files, say);
  std::vector<JudgedBetween> all;
  for (const std::string& file : files) {
    const std::optional<std::string> path = trace_in(file, given);
    if (!path) continue;
    std::optional<HeldBetween> found;
    const auto use = [&](TraceReader& reader) { return judge(reader, given, found); };
    if (!read_trace(*path, given.reading, use) || !found) continue;
    all.push_back({*path, *std::move(found), given.limits});
  }
  if (all.empty()) return kBadInput;
  const int status = publish_all(given, all);
  if (all.size() < files.size()) return kBadInput;
  const bool passed =
      std::all_of(all.begin(), all.end(), [](const auto& one) { return one.passed(); });
  return status != kFine || passed ? status : kThreshold;
}

}  // namespace vramscope
