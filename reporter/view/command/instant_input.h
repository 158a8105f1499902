// What verbs that are asked for an instant share: the trace that knows it, and what was live then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/asked_instant.h"
#include "reporter/view/command/reading.h"

namespace vramscope {

struct Filter;

// A report that ends at an instant, and the instant.
struct ReportUntil {
  Report report;
  AskedInstant instant;
};

// The instant of a trace that was followed. None: the trace lacks it, and missing() says what.
[[nodiscard]] std::optional<AskedInstant> instant_of(TraceFollower& trace, const std::string& asked,
                                                     const std::string& option);

// What passes the filter and is live at an instant of the trace in a file, which stands behind
// `option`; says why there is none.
[[nodiscard]] std::optional<ReportUntil> open_traced_until(const std::string& path,
                                                           const Filter& filter,
                                                           const std::string& asked,
                                                           const std::string& option,
                                                           const Reading& reading);

// The trace of the report in a file, which holds its whole run. None: says why the report does not
// tell what was live at the instant, and which option of `run` makes a trace.
[[nodiscard]] std::optional<std::string> trace_of(const std::string& path, const Report& report,
                                                  const std::string& asked,
                                                  const std::string& option);

// Why the report does not tell what was live at the instant, after its path.
[[nodiscard]] std::string no_instant_in(const Report& report, const std::string& asked,
                                        const std::string& option);

}  // namespace vramscope
