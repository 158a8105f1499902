// advice_text() says what was found: what it takes, what shows it, what to do, and which command
// tells more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/advice/advice.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// One finding, in words.
struct AdviceWords {
  std::string title = {};    // "Memory that only grows"
  std::string saves = {};    // "saves at most 512 MiB"
  std::string shown = {};    // the figures that show it
  std::string to_do = {};    // what to do
  std::string command = {};  // behind "vramscope", before the file
};
[[nodiscard]] AdviceWords words_of(const Report& report, const Advice& advice,
                                   const NameFrame& name);

// Begins a finding: "Memory that only grows: saves at most 512 MiB, GPU 0".
[[nodiscard]] std::string finding_title(const Report& report, const Advice& advice,
                                        const AdviceWords& words);

// Of the JSON, one row for each call site of a finding. The report outlives them.
[[nodiscard]] Columns<AdviceSite> advice_site_columns(const Report& report, const NameFrame& name);
// The same for each finding.
[[nodiscard]] Columns<Advice> advice_columns(const Report& report, const NameFrame& name);

// What of a file was looked at. file: that is shown.
struct AdviceOf {
  const Report& report;
  const std::vector<Advice>& found;
  std::string file;
  bool has_segments = false;  // of an instant that matters
  bool is_trace = false;
};
// Begins the answer: how many findings there are, or what was looked for in vain.
[[nodiscard]] std::string findings_text(const AdviceOf& of);
// Ends it: what the file cannot show; "": all was looked for.
[[nodiscard]] std::string not_looked_for(const AdviceOf& of);
[[nodiscard]] Document advice_text(const AdviceOf& of, const NameFrame& name, const Page& page,
                                   const RowChoice& choice);

}  // namespace vramscope
