// Families of metrics in both formats.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/metrics_writer.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

std::string written(MetricsFormat format) {
  std::string text;
  MetricsWriter writer(text, format);
  writer.family({.name = "calls", .type = MetricType::counter, .help = "Calls."});
  writer.sample({{"function", "a\"b\\c\nd"}}, 3);
  writer.family({.name = "x_bytes", .unit = "bytes", .help = "X."});
  writer.sample({}, 5);
  writer.family({.name = "device", .type = MetricType::info, .help = "The GPU."});
  writer.sample({{"device", "0"}, {"name", "H200"}}, 1);
  writer.end();
  return text;
}

TEST(MetricsWriter, WritesOpenMetrics) {
  EXPECT_EQ(written(MetricsFormat::openmetrics),
            "# TYPE vramscope_calls counter\n"
            "# HELP vramscope_calls Calls.\n"
            "vramscope_calls_total{function=\"a\\\"b\\\\c?d\"} 3\n"
            "# TYPE vramscope_x_bytes gauge\n"
            "# UNIT vramscope_x_bytes bytes\n"
            "# HELP vramscope_x_bytes X.\n"
            "vramscope_x_bytes 5\n"
            "# TYPE vramscope_device info\n"
            "# HELP vramscope_device The GPU.\n"
            "vramscope_device_info{device=\"0\",name=\"H200\"} 1\n"
            "# EOF\n");
}

TEST(MetricsWriter, WritesTheFormatOfReadersWithoutIt) {
  EXPECT_EQ(written(MetricsFormat::prometheus),
            "# TYPE vramscope_calls_total counter\n"
            "# HELP vramscope_calls_total Calls.\n"
            "vramscope_calls_total{function=\"a\\\"b\\\\c?d\"} 3\n"
            "# TYPE vramscope_x_bytes gauge\n"
            "# HELP vramscope_x_bytes X.\n"
            "vramscope_x_bytes 5\n"
            "# TYPE vramscope_device_info gauge\n"
            "# HELP vramscope_device_info The GPU.\n"
            "vramscope_device_info{device=\"0\",name=\"H200\"} 1\n");
}

TEST(MetricsWriter, SecondsLoseNothing) {
  EXPECT_EQ(metric_seconds(0), "0.000000000");
  EXPECT_EQ(metric_seconds(1'000'000'001), "1.000000001");
  EXPECT_EQ(metric_seconds(~std::uint64_t{0}), "18446744073.709551615");
}

}  // namespace
}  // namespace vramscope
