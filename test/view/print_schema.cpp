// print_schema: what listings.schema.json is, by the columns with which verbs write.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "reporter/report/report.h"
#include "reporter/view/doctor/findings_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/advice_text.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/between_text.h"
#include "reporter/view/text/call_changes_text.h"
#include "reporter/view/text/calls_text.h"
#include "reporter/view/text/check_text.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/fit_text.h"
#include "reporter/view/text/functions_text.h"
#include "reporter/view/text/history_text.h"
#include "reporter/view/text/leaks_text.h"
#include "reporter/view/text/live_fields.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/moment_text.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/options_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/phase_text.h"
#include "reporter/view/text/ranks_timeline_text.h"
#include "reporter/view/text/replay_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/reports_text.h"
#include "reporter/view/text/running_text.h"
#include "reporter/view/text/runs_text.h"
#include "reporter/view/text/scale_text.h"
#include "reporter/view/text/site_groups.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/stats_text.h"
#include "reporter/view/text/timeline_text.h"
#include "reporter/view/text/trace_text.h"
#include "reporter/view/text/tune_text.h"
#include "test/view/schema.h"

namespace vramscope {
namespace {

template <class Row>
Field object(const char* name, const Columns<Row>& columns) {
  return {.name = name, .doc = "", .type = "object", .fields = fields_of(columns)};
}

template <class Row>
Field rows(const char* name, const Columns<Row>& columns) {
  return {.name = name, .doc = "", .type = "objects", .fields = fields_of(columns)};
}

Field several_listings() {
  Field several = rows("several", which_report(""));
  several.fields.push_back(
      {.name = "listing", .doc = "listing of this report alone", .type = "any"});
  return several;
}

// A definition for each verb.
std::vector<Field> listings() {
  const Report none;
  const Suppressions no_suppressions;
  const NameFrame no_name;
  const CallsOf calls{.report = none, .calls = {}, .name = no_name};
  return {object("report", report_fields(none, "", {}, {}, {})),
          object("processes", runs_fields({}, {}, 0)),
          rows("advice", advice_columns(none, {})),
          rows("sites", site_columns(none, {})),
          rows("groups", group_columns(GroupBy::function, RunHistory::known)),
          rows("peak", peak_fields(none, {}, 0)),
          object("moment", moment_fields(none, {}, 0)),
          object("leaks", leaks_fields(none, no_suppressions, {}, 0)),
          object("owners", owners_fields(none, 0)),
          rows("axis", axis_columns(none, Axis::owner)),
          object("oom", oom_fields(none, {}, 0)),
          object("calls", calls_fields(calls, {})),
          object("stats", stats_fields({})),
          {.name = "device_stats",
           .doc = "with `--device N`: only that GPU's dictionary",
           .type = "numbers",
           .unit = "by key",
           .words = kKeysOfEveryDevice},
          object("map", map_fields(none, {}, {}, 0)),
          object("timeline", timeline_fields(0)),
          object("ranks", ranks_timeline_fields({}, {})),
          object("diff", diff_fields({})),
          object("history", history_fields(0)),
          object("call_changes", call_changes_fields(0)),
          object("check", check_fields(0)),
          object("between", between_fields(no_name, 0)),
          rows("replay", replay_fields({})),
          rows("fit", fit_fields({})),
          rows("phase", phase_fields({})),
          rows("scale", scale_fields({})),
          rows("tune", tune_fields({})),
          object("trace", trace_fields(none, {}, {})),
          rows("functions", function_columns()),
          rows("list", running_columns()),
          object("live", live_fields()),
          rows("live_lines", live_line_columns()),
          rows("options", option_columns()),
          rows("doctor", finding_columns()),
          several_listings()};
}

}  // namespace
}  // namespace vramscope

int main() {
  std::fputs(vramscope::schema_of(vramscope::listings()).c_str(), stdout);
  return 0;
}
