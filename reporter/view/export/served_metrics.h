// served_metrics() writes the metrics of programs that run, and of those that have just ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "reporter/view/export/metrics_writer.h"
#include "reporter/view/text/live_screen.h"

namespace vramscope {

class WatchedPrograms;

struct ServedChoice {
  MetricsFormat format = MetricsFormat::openmetrics;
  std::size_t most_sites = 10;  // call sites of each program, the largest first; others are one
};

// The names of the call sites of a program.
using NamesOf = std::function<LiveRowNames&(const Report& report)>;

// May throw bad_alloc.
[[nodiscard]] std::string served_metrics(const WatchedPrograms& watched, const NamesOf& names_of,
                                         const ServedChoice& choice);

}  // namespace vramscope
