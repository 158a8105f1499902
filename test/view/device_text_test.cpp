// What a report says of each device: its peak, what is needed and idle, and what comes past the
// cache.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/text/device_text.h"
#include "test/view/report_screen.h"

namespace vramscope {
namespace {

// Figures of a GPU (README, Python).
Report report_with_idle_memory() {
  Report report = sample_report();
  report.process.options = {{"policy", "native-safe"}};
  DeviceStatistics& stats = report.devices[0].statistics;
  stats.reserved_bytes.all = {.current = 11824LL << 20, .peak = 11824LL << 20};
  stats.reserved_bytes.small_pool.peak = 6 << 20;
  stats.active_bytes.all.peak = 5606LL << 20;
  stats.active_bytes.large_pool.peak = 5602LL << 20;
  return report;
}

TEST(ReportText, SaysWhatIsNeededAndThatTheRestOfWhatWasReservedIsIdleAndGoesBack) {
  Report report = report_with_idle_memory();
  const std::string needed =
      "\n  needed: at most 5.48 GiB of the 11.5 GiB reserved;\n    the remaining 6.07 GiB was "
      "idle: "
      "free memory that is released before a request is refused,\n    and when other processes "
      "take memory\n";
  EXPECT_TRUE(has(screen(report), needed)) << screen(report);

  const std::uint64_t idle = std::uint64_t{11800} << 20;
  report.devices[0].segments.resize(2);
  report.devices[0].segments[0].total_size = idle;
  report.devices[0].segments[1].total_size = std::uint64_t{24} << 20;
  report.devices[0].segments[1].active_size = std::uint64_t{1} << 20;
  EXPECT_TRUE(has(screen(report), ", now 11.5 GiB,\n    11.5 GiB of it idle\n")) << screen(report);
}

TEST(ReportText, OfPyTorchsPolicyOnlyBoundsOfWhatIsNeededAreKnown) {
  Report report = report_with_idle_memory();
  report.process.options = {{"policy", "pytorch"}};
  const std::string needed =
      "\n  needed: 5.47 GiB to 11.5 GiB, because it is not known how much reserved memory was idle "
      "at "
      "the\n    peak; idle memory is released before a request is refused\n";

  EXPECT_TRUE(has(screen(report), needed)) << screen(report);
}

TEST(ReportText, OfWhatTheDriverServedNothingIsIdle) {
  Report report = report_with_idle_memory();
  report.process.mode = "observe";
  DeviceStatistics& stats = report.devices[0].statistics;
  stats.reserved_bytes.all.peak = stats.active_bytes.all.peak;

  EXPECT_FALSE(has(screen(report), "needed"));
  EXPECT_FALSE(has(screen(report), "idle"));
}

TEST(ReportText, SaysWhetherSegmentsGrow) {
  Report report = sample_report();
  report.process.options = {{"alloc_conf", "max_split_size_mb:40, growing_segments:True"},
                            {"policy", "pytorch"}};
  EXPECT_TRUE(has(screen(report), ", policy pytorch with growing_segments, CUDA"));

  report.devices[0].statistics.segment.all.allocated = 3;
  EXPECT_TRUE(has(screen(report), ", policy pytorch without growing_segments, CUDA"));
  report.devices[0].facts.pages.map.count = 1;
  EXPECT_TRUE(has(screen(report), ", policy pytorch with growing_segments, CUDA"));
}

TEST(ReportText, ReservedAddressesAreNotCalledReserved) {
  Report report = sample_report();
  report.kinds.push_back({.kind = Kind::address_range,
                          .device = 0,
                          .peak_bytes = std::uint64_t{1} << 40,
                          .allocations = 1});

  EXPECT_TRUE(
      has(screen(report),
          "\n  address_range  peak 1.00 TiB, now 0 B, 1 call: address space, not memory\n"));
}

TEST(ReportText, MeasuresALimitedDeviceByItsLimit) {
  Report report = sample_report();
  report.devices[0].facts.limit_bytes = std::uint64_t{4} << 30;
  report.devices[0].facts.limit_refusals = 7;

  EXPECT_TRUE(has(screen(report), "25.0 % of 4.00 GiB, now 1.00 GiB"));
  EXPECT_TRUE(has(screen(report), "\n  limited to 4.00 GiB of 128 GiB: 7 requests refused\n"));
}

TEST(ReportText, OfManyDevicesHasALineForEach) {
  Report report = sample_report();
  for (std::uint16_t index : {1, 2}) {
    report.devices.resize(std::max<std::size_t>(report.devices.size(), index + 1));
    report.devices[index] = report.devices[0];
    report.devices[index].facts.index = index;
  }

  const std::string text = screen(report);

  EXPECT_TRUE(has(text, "3 GPUs"));
  EXPECT_TRUE(has(text, "REQUESTED PEAK"));
}

// 1 GiB of cuMemCreate, and pools: no counter of memory_stats knows of them.
Report of_other_kinds() {
  Report report = sample_report();
  report.devices[0].used = false;
  report.kinds = {{.kind = Kind::physical,
                   .device = 0,
                   .current_bytes = 0,
                   .peak_bytes = std::uint64_t{1} << 30,
                   .allocations = 1,
                   .frees = 1},
                  {.kind = Kind::stream_ordered,
                   .device = 0,
                   .current_bytes = std::uint64_t{32} << 20,
                   .peak_bytes = std::uint64_t{2} << 30,
                   .allocations = 5,
                   .frees = 4}};
  return report;
}

TEST(ReportText, CountsMemoryThatComesPastTheCacheToItsGpu) {
  const std::string text = screen(of_other_kinds());

  EXPECT_TRUE(has(text, R"(
GPU 0  NVIDIA H200
  stream_ordered  peak  2.00 GiB  [#.......................]  1.6 % of 128 GiB, now 32.0 MiB,
    5 calls
  physical        peak  1.00 GiB  [#.......................]  0.8 % of 128 GiB, now 0 B, 1 call
)")) << text;
  EXPECT_FALSE(has(text, "No device memory"));
  EXPECT_FALSE(has(text, "reserved "));
}

TEST(ReportText, CountsItWhereThereArePlainAllocationsToo) {
  Report report = of_other_kinds();
  report.devices[0].used = true;
  EXPECT_TRUE(has(screen(report), "\n  physical        peak  1.00 GiB  ["));

  report.devices[1] = report.devices[0];
  report.devices[1].facts.index = 1;
  EXPECT_TRUE(has(screen(report), "\n  GPU 0  physical        peak  1.00 GiB  ["));
}

// It once showed these kinds alone, "all of it, regardless of the filter", where nothing of the GPU
// passed.
TEST(ReportText, LeavesOutAGpuOfWhichNothingPasses) {
  Report report = of_other_kinds();
  report.devices[0].used = true;
  filter_report(report, {.site = "nosuch"}, {}, sample_names());
  EXPECT_FALSE(has(screen(report), "GPU 0")) << screen(report);

  report = of_other_kinds();
  report.sites[0].parts[0].kind = Kind::stream_ordered;
  filter_report(report, {.site = "make_weights"}, {}, sample_names());
  EXPECT_TRUE(
      has(screen(report), "all of it, regardless of the filter\n  stream_ordered  peak  2.00 GiB"))
      << screen(report);
}

TEST(ReportText, CountsItOnAGpuOfWhichNothingElseIsKnown) {
  Report report = of_other_kinds();
  report.devices.clear();

  EXPECT_TRUE(
      has(screen(report), "\nGPU 0\n  stream_ordered  peak  2.00 GiB, now 32.0 MiB, 5 calls\n"));
}

}  // namespace
}  // namespace vramscope
