// These functions write the metrics that a report has, for one report or for many: each family
// once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "allocator/base/place.h"
#include "reporter/view/export/metrics_writer.h"

namespace vramscope {

struct Report;

// A report, which outlives it, and the labels that tell its samples from those of the others.
struct MeasuredReport {
  const Report* report = nullptr;
  MetricLabels labels = {};
};
using MeasuredReports = std::span<const MeasuredReport>;

// Each may throw bad_alloc.
void add_process_metrics(MeasuredReports reports, MetricsWriter& writer);
void add_kind_metrics(MeasuredReports reports, MetricsWriter& writer);
void add_device_metrics(MeasuredReports reports, MetricsWriter& writer);
void add_ledger_metrics(MeasuredReports reports, MetricsWriter& writer);
void add_function_metrics(MeasuredReports reports, MetricsWriter& writer);

// The labels "kind" and, of memory of a GPU, "device".
void add_labels_of(Kind kind, std::uint16_t device, MetricLabels& labels);

// Begins a family of bytes. Sums of processes that ended at different times are said to be such.
void begin_bytes(MeasuredReports reports, std::string_view name, std::string_view help,
                 MetricsWriter& writer);

}  // namespace vramscope
