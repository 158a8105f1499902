// answers_of_trace() and answers_of_report() give a page what advise and fit say of its file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/command/reading.h"

namespace vramscope {

// JSON for PageOf; "": the page has none.
struct PageAnswers {
  std::string advice = {};
  std::string fit = {};
};

// A trace that is too large to be replayed for a page gives the commands that do it.
[[nodiscard]] PageAnswers answers_of_trace(const std::string& path, const Reading& reading,
                                           const StackChoice& stacks);

// Of the report's trace, if it has one; else fit has no answer. A report of several processes has
// neither.
[[nodiscard]] PageAnswers answers_of_report(const std::string& path, const Report& report,
                                            const Reading& reading, const StackChoice& stacks);

}  // namespace vramscope
