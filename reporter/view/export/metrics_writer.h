// MetricsWriter writes families of metrics as text, as OpenMetrics or in Prometheus's older format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope {

// prometheus: text format 0.0.4, which has no infos and names a counter's family with "_total".
enum class MetricsFormat : std::uint8_t { openmetrics, prometheus };

enum class MetricType : std::uint8_t { gauge, counter, info };

struct MetricFamily {
  std::string_view name;  // without "vramscope_" and "_total"
  MetricType type = MetricType::gauge;
  std::string_view unit = {};  // the last word of the name; "": none
  std::string_view help = {};  // a sentence
};

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

// Returns nanoseconds as seconds, without loss: "1.000000001".
[[nodiscard]] std::string metric_seconds(std::uint64_t ns);

// Threads: one. May throw bad_alloc.
class MetricsWriter {
 public:
  // Appends to `text`, which outlives it.
  MetricsWriter(std::string& text, MetricsFormat format) : text_(text), format_(format) {}

  // Begins the next family. Its name was not used before.
  void family(const MetricFamily& family);
  // Adds a sample to the family. Two samples of one family have different labels.
  void sample(const MetricLabels& labels, std::string_view value);
  void sample(const MetricLabels& labels, std::uint64_t value) {
    sample(labels, std::to_string(value));
  }
  // Ends the text.
  void end();

 private:
  std::string& text_;
  MetricsFormat format_;
  std::string name_;  // of a sample
};

}  // namespace vramscope
