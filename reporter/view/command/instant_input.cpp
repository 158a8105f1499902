// Looks up instants in traces.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/instant_input.h"

#include <utility>

#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/replay/trace_details.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/instant_text.h"

namespace vramscope {
std::optional<AskedInstant> instant_of(TraceFollower& trace, const std::string& asked,
                                       const std::string& option) {
  AskedInstant found = find_instant(trace, asked);
  if (found.state == AskedInstant::State::range && !find_range(trace, found)) return std::nullopt;
  if (found.is_found()) return found;
  trace.lack(instant_problem(found, option, trace.length_ns()));
  return std::nullopt;
}

std::optional<ReportUntil> open_traced_until(const std::string& path, const Filter& filter,
                                             const std::string& asked, const std::string& option,
                                             const Reading& reading) {
  std::optional<ReportUntil> made;
  const auto use = [&](TraceReader& reader) {
    TraceFollower whole(reader);
    if (!whole.follow({})) return trouble_of(whole);
    const std::optional<AskedInstant> instant = instant_of(whole, asked, option);
    if (!instant) return trouble_of(whole);
    Filter until = filter;
    until.to = std::to_string(instant->at_ns) + "ns";
    TraceFollower trace(reader, until, names_from_symbols());
    std::optional<Report> report =
        trace.missing().empty() ? detailed_report(trace, until) : std::nullopt;
    if (report) made = ReportUntil{std::move(*report), *instant};
    return trouble_of(trace);
  };
  if (!read_trace(path, reading, use)) return std::nullopt;
  return made;
}

std::optional<std::string> trace_of(const std::string& path, const Report& report,
                                    const std::string& asked, const std::string& option) {
  std::string trace = whole_trace_of(path, report);
  if (!trace.empty()) return trace;
  say("'" + path + "' " + no_instant_in(report, asked, option));
  return std::nullopt;
}

std::string no_instant_in(const Report& report, const std::string& asked,
                          const std::string& option) {
  const std::string lacks = instant_problem(find_instant(report, asked), option, 0);
  if (!lacks.empty()) return lacks;
  const std::string& named = report.trace.path;
  return "does not tell what was live at " + harmless(asked) + ": " +
         (named.empty() ? "a trace does, which run --trace FILE makes"
                        : "give its trace, '" + named + "'");
}

}  // namespace vramscope
