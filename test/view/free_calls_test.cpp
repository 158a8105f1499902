// Calls that free memory: what became of it, and which had nothing to free.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/free_calls.h"

#include <gtest/gtest.h>

#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/analysis/allocating_threads.h"

namespace vramscope {
namespace {

// 8 frees that the cache kept and 5 calls that went to the driver, 3 of which gave a segment back.
Report thirteen_calls() {
  Report report;
  DeviceReport& device = report.devices.emplace_back();
  device.timing.free_hit.count = 8;
  device.timing.free_driver.count = 5;
  device.statistics.allocation.all.freed = 11;
  device.statistics.segment.all.freed = device.statistics.num_device_free = 7;
  return report;
}

TEST(FreeCalls, WithNothingToFreeAreToldApart) {
  const Report report = thirteen_calls();

  const FreeCalls calls = free_calls(report, report.devices[0]);

  EXPECT_EQ(calls.kept, 8u);
  EXPECT_EQ(calls.by_driver, 5u);
  EXPECT_EQ(calls.of_nothing, 2u);
  EXPECT_EQ(calls.given_back_later, 4u);
}

TEST(FreeCalls, AreNotToldApartWhereMemoryEndedWithItsContext) {
  Report report = thirteen_calls();
  report.devices[0].statistics.segment.all.freed = 8;

  EXPECT_EQ(free_calls(report, report.devices[0]).of_nothing, std::nullopt);
  EXPECT_EQ(free_calls(report, report.devices[0]).given_back_later, std::nullopt);
}

TEST(FreeCalls, AreNotToldApartWhereCallsWentUnrecorded) {
  Report report = thirteen_calls();
  report.unrecorded_calls = 1;

  EXPECT_EQ(free_calls(report, report.devices[0]).of_nothing, std::nullopt);
}

TEST(FreeCalls, PagesThatWentBackHaveNoCount) {
  Report report = thirteen_calls();
  report.devices[0].facts.pages.map.count = 1;

  EXPECT_EQ(free_calls(report, report.devices[0]).of_nothing, 2u);
  EXPECT_EQ(free_calls(report, report.devices[0]).given_back_later, std::nullopt);
}

TEST(FreeCalls, AreThoseOfEveryKindThatHoldsMemory) {
  Report report;
  const auto add = [&](const char* name, std::uint64_t calls, std::uint64_t failures) {
    report.functions.push_back({.name = name,
                                .totals = {.calls = calls,
                                           .failures = failures,
                                           .time = {.count = calls, .total_ns = calls * 10}}});
  };
  add("cuMemFree_v2", 5, 1);
  add("cuMemRelease", 6, 0);
  add("cuMemHostUnregister", 1, 0);
  add("cuArrayDestroy", 1, 0);
  for (const char* other : {"cuMemUnmap", "cuMemAddressFree", "cuGraphExecDestroy",
                            "cuIpcCloseMemHandle", "cuMemPoolDestroy", "cuMemAlloc_v2"})
    add(other, 100, 0);
  report.kinds = {{.kind = Kind::device, .frees = 3},
                  {.kind = Kind::physical, .frees = 2},
                  {.kind = Kind::mapping, .frees = 50}};

  const AllFrees all = all_frees(report);

  EXPECT_EQ(all.calls, 12u);
  EXPECT_EQ(all.frees, 5u);
  EXPECT_EQ(all.total_ns, 130u);
}

AxisEntry thread(const char* name, Kind kind = Kind::device) {
  return {.axis = Axis::thread, .value = name, .kind = kind, .totals = {.total_count = 1}};
}

TEST(AllocatingThreads, AreThoseOfMemory) {
  Report report;
  EXPECT_EQ(allocating_threads(report), std::nullopt);

  report.axes = {thread("a"), thread("b"), thread("b", Kind::pinned), thread("c", Kind::mapping)};
  EXPECT_EQ(allocating_threads(report), 2u);
}

// "of 1,025 threads added", where there were many more.
TEST(AllocatingThreads, OthersAreNotOne) {
  Report report;
  for (const char* unknown : {"others", "unknown"}) {
    report.axes = {thread("a"), thread(unknown)};
    EXPECT_EQ(allocating_threads(report), std::nullopt) << unknown;
  }
}

TEST(AllocatingThreads, OfChosenRowsOnlyTheOneThreadOfAllIsKnown) {
  Report report;
  report.axes = {thread("a"), thread("b")};
  report.chosen = Chosen{.by_rows = true, .axis = Axis::owner, .threads = 2};
  EXPECT_EQ(allocating_threads(report), std::nullopt);

  report.chosen->threads = 1;
  EXPECT_EQ(allocating_threads(report), 1u);

  report.chosen = Chosen{.by_rows = true, .axis = Axis::thread, .threads = 9};
  EXPECT_EQ(allocating_threads(report), 2u);  // those that are left
}

}  // namespace
}  // namespace vramscope
