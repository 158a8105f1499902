// OpenMetrics 1.0 names a counter's family without "_total", tells units, and ends with "# EOF".
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/metrics_writer.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

// A label's value: the format escapes three characters.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : harmless(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string_view suffix_of(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return "_total";
    case MetricType::info:
      return "_info";
    case MetricType::gauge:
      break;
  }
  return "";
}

std::string_view word_of(MetricType type, MetricsFormat format) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::info:
      return format == MetricsFormat::openmetrics ? "info" : "gauge";
    case MetricType::gauge:
      break;
  }
  return "gauge";
}

}  // namespace

std::string metric_seconds(std::uint64_t ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%" PRIu64 ".%09" PRIu64, ns / 1'000'000'000,
                ns % 1'000'000'000);
  return text.data();
}

void MetricsWriter::family(const MetricFamily& family) {
  const std::string base = "vramscope_" + std::string(family.name);
  name_ = base + std::string(suffix_of(family.type));
  const std::string& shown = format_ == MetricsFormat::openmetrics ? base : name_;
  text_.append("# TYPE ").append(shown).append(" ").append(word_of(family.type, format_));
  if (!family.unit.empty() && format_ == MetricsFormat::openmetrics) {
    text_.append("\n# UNIT ").append(shown).append(" ").append(family.unit);
  }
  text_.append("\n# HELP ").append(shown).append(" ").append(family.help).append("\n");
}

void MetricsWriter::sample(const MetricLabels& labels, std::string_view value) {
  text_ += name_;
  char before = '{';
  for (const auto& [label, text] : labels) {
    text_.append(1, before).append(label).append("=").append(quoted(text));
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(value).append("\n");
}

void MetricsWriter::end() {
  if (format_ == MetricsFormat::openmetrics) text_ += "# EOF\n";
}

}  // namespace vramscope
