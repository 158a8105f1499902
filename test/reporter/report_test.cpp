// How a report is put together from what the allocator and the recorder know.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "reporter/report/assemble.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/trigger.h"
#include "reporter/report/unmeasured.h"
#include "test/reporter/sample.h"

namespace vramscope {
namespace {

std::int64_t value_of(const FlatStats& stats, const std::string& key) {
  const auto found = std::ranges::find(stats, key, &FlatStats::value_type::first);
  EXPECT_NE(found, stats.end()) << key;
  return found == stats.end() ? -999 : found->second;
}

TEST(Report, ListsDevicesByIndexWithThoseNeverUsed) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].facts.uuid, "GPU-0");
  EXPECT_TRUE(report.devices[0].used);
  EXPECT_EQ(report.devices[1].facts.uuid, "GPU-1");
  EXPECT_FALSE(report.devices[1].used);
}

TEST(Report, KnowsADeviceOfWhichOnlyMemoryIsKnown) {
  ReportParts parts = sample_parts();
  parts.devices.clear();

  const Report report = assemble(std::move(parts));

  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].segments.size(), 2U);
}

TEST(Report, PutsSegmentsWhereTheirKindBelongs) {
  const Report report = assemble(sample_parts());

  EXPECT_EQ(report.devices[0].segments.size(), 2U);
  ASSERT_EQ(report.host.segments.size(), 1U);
  EXPECT_EQ(report.host.segments[0].kind, Kind::pinned);
  ASSERT_EQ(report.host.registrations.size(), 1U);
  EXPECT_TRUE(report.host.registrations[0].is_direct);
}

TEST(Report, MergesTagsOfOneStackAndKeepsTheParts) {
  const Report report = assemble(sample_parts());
  const Site& largest = report.sites.at(0);

  ASSERT_EQ(largest.parts.size(), 2U);
  EXPECT_EQ(largest.parts[0].kind, Kind::device);
  EXPECT_EQ(largest.parts[1].kind, Kind::pinned);
  EXPECT_EQ(largest.totals.live_bytes,
            largest.parts[0].totals.live_bytes + largest.parts[1].totals.live_bytes);
  EXPECT_EQ(largest.totals.total_ns, 93000U);
}

TEST(Report, SortsSitesByPeakAndLeavesOutThoseWithoutAnything) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.sites.size(), 3U);  // the fourth stack never allocated
  EXPECT_TRUE(std::ranges::is_sorted(report.sites, std::greater<>(),
                                     [](const Site& site) { return site.totals.peak_bytes; }));
}

TEST(Report, HasTheSitesOfLiveBlocksOnly) {
  const Report report = assemble(sample_parts());
  const auto& blocks = report.devices[0].segments[0].blocks;

  EXPECT_EQ(report.sites.at(static_cast<std::size_t>(blocks[0].site)).totals.live_bytes, 1000U);
  EXPECT_EQ(blocks[1].site, -1);
  EXPECT_EQ(report.host.registrations[0].blocks[0].site, -1);  // its tag is 0: unknown
}

TEST(Report, TellsWhenLiveBlocksWereAllocated) {
  ReportParts parts = sample_parts();
  parts.memory.blocks[1].born_ns = parts.memory.start_ns + 5;  // of its last life: it is free
  const Report report = assemble(std::move(parts));
  const auto& blocks = report.devices[0].segments[0].blocks;

  EXPECT_EQ(blocks[0].born_ns, 950'000'000);
  EXPECT_EQ(blocks[1].born_ns, -1);
  EXPECT_EQ(report.host.registrations[0].blocks[0].born_ns, -1);  // nobody knows
}

TEST(Report, SumsSitesToWhatIsLive) {
  const Report report = assemble(sample_parts());
  std::uint64_t sites = 0;
  std::uint64_t ledger = 0;
  for (const Site& site : report.sites) sites += site.totals.live_bytes;
  for (const KindFacts& kind : report.kinds) ledger += kind.current_bytes;

  EXPECT_EQ(sites, ledger);
}

TEST(Report, NamesOnlyFramesThatItsSitesUse) {
  const Report report = assemble(sample_parts());

  EXPECT_EQ(report.frames.size(), 5U);
  for (const Site& site : report.sites) {
    for (const std::uint32_t frame : site.frames) EXPECT_LT(frame, report.frames.size());
  }
}

TEST(Report, HasOfEachThreadTheOutermostFramesOfItsFirstStack) {
  ReportParts parts = sample_parts();
  ThreadFact later{.id = 4712, .name = "train"};
  parts.recorder.threads.push_back(later);
  parts.recorder.tags.own()[2].values[static_cast<std::size_t>(Axis::thread)] = 2;
  std::vector<std::uint32_t>& deep = parts.recorder.sites.own()[3].frames;
  deep.insert(deep.begin(), 2 * kFramesOfStart, 0);  // innermost

  const Report report = assemble(std::move(parts));

  ASSERT_EQ(report.threads.size(), 2U);
  EXPECT_EQ(report.threads[0].thread, "train 4711");
  ASSERT_EQ(report.threads[0].frames.size(), 2U);
  EXPECT_EQ(report.frames[report.threads[0].frames.back()].offset, 0x1200U);
  EXPECT_EQ(report.threads[1].thread, "train 4712");
  ASSERT_EQ(report.threads[1].frames.size(), kFramesOfStart);
  EXPECT_EQ(report.frames[report.threads[1].frames.back()].offset, 0x1200U);
}

TEST(Report, ListsFunctionsThatWereCalled) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.functions.size(), 2U);
  EXPECT_EQ(report.functions[0].name, "cuMemAlloc_v2");
  EXPECT_EQ(report.functions[1].name, "cuMemHostAlloc");
}

TEST(Report, HasALedgerEntryForEachKindAndDevice) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.ledger.size(), 11U);
  EXPECT_EQ(report.ledger[0].kind, "device");
  EXPECT_EQ(report.ledger[0].owner, "PyTorch");
  EXPECT_EQ(report.ledger[0].peak_bytes, 20U << 20);
  EXPECT_EQ(report.ledger[1].owner, "program");
  EXPECT_EQ(report.ledger[3].owner, "unknown");  // no tag tells whose the registration is
  EXPECT_EQ(report.ledger[3].current_bytes, 8192U);
}

// Of owners that nobody knows only the share of the kind's peak is known, and what they have now.
TEST(Report, HasNoLedgerEntryWhosePeakIsBelowItsCurrentValue) {
  ReportParts parts = sample_parts();
  TagTotals& freed = parts.memory.tags.own()[1];
  ++parts.memory.kinds[0].allocations;  // as large as what a known owner freed meanwhile
  freed.live_bytes = 0;
  freed.live_count = 0;

  const Report report = assemble(std::move(parts));

  const auto unknown = std::ranges::find_if(report.ledger, [](const LedgerEntry& entry) {
    return entry.kind == "device" && entry.owner == "unknown";
  });
  ASSERT_NE(unknown, report.ledger.end());
  EXPECT_EQ(unknown->current_bytes, 1000U);
  EXPECT_EQ(unknown->peak_bytes, 1000U);
}

TEST(Report, HasALedgerThatAddsUpToTheDevice) {
  const Report report = assemble(sample_parts());
  std::uint64_t used = 0;
  for (const LedgerEntry& entry : report.ledger) used += entry.device_bytes;

  const DeviceFacts& facts = report.devices[0].facts;
  std::uint64_t reserved = 0;
  for (const SegmentFacts& segment : report.devices[0].segments) reserved += segment.total_size;
  EXPECT_EQ(used, reserved + facts.outside_bytes);
  EXPECT_EQ(report.ledger[4].kind, "cached");
  EXPECT_EQ(report.ledger[5].device_bytes, facts.context_bytes);
  EXPECT_EQ(report.ledger[6].device_bytes, facts.module_bytes);
  EXPECT_EQ(report.ledger[7].owner, "exported");
  EXPECT_EQ(report.ledger[7].device_bytes, facts.exported_bytes);
  EXPECT_EQ(report.ledger[8].kind, "cached");
  EXPECT_EQ(report.ledger[8].owner, "pools");
  EXPECT_EQ(report.ledger[8].device_bytes, facts.pool_bytes);
  EXPECT_EQ(report.ledger[9].owner, "815 (python3)");
  EXPECT_EQ(report.ledger[9].device_bytes, 20U << 20);
}

TEST(Report, TellsWhatAnAttachedProcessHeldBeforeApartFromOthers) {
  ReportParts parts = sample_parts();
  DeviceFacts& facts = parts.devices[1];  // device 0
  facts.measured_by = word_of(MeasuredBy::none);
  facts.before_bytes = 200U << 20;
  facts.other_processes.clear();
  const std::uint64_t explained = facts.exported_bytes + facts.pool_bytes + *facts.before_bytes;
  const std::uint64_t outside = facts.outside_bytes;

  Report report = assemble(std::move(parts));

  std::map<LedgerRow, std::uint64_t> rows;
  for (const LedgerEntry& row : report.ledger) {
    if (row.device == 0) rows[row_of(row)] += row.device_bytes;
  }
  EXPECT_EQ(rows[LedgerRow::before], 200U << 20);
  EXPECT_LE(rows[LedgerRow::others], outside - explained);
  EXPECT_GE(rows[LedgerRow::others] + (std::uint64_t{2} << 20), outside - explained);  // a page
}

TEST(Report, CountsADifferenceOfFreeMemoryWithTheOthers) {
  ReportParts parts = sample_parts();
  parts.devices[1].measured_by = word_of(MeasuredBy::difference);  // device 0

  const Report report = assemble(std::move(parts));

  std::uint64_t others = 0;
  for (const LedgerEntry& row : report.ledger) {
    EXPECT_TRUE(row_of(row) != LedgerRow::contexts && row_of(row) != LedgerRow::modules);
    if (row.device == 0 && row_of(row) == LedgerRow::others) others += row.device_bytes;
  }
  EXPECT_GE(others, 450U << 20);
}

TEST(Report, OfAnEarlierVersionTellsNoContextsApart) {
  Report report = assemble(sample_parts());
  const auto used = [&] {
    std::uint64_t bytes = 0;
    for (const LedgerEntry& row : report.ledger) bytes += row.device_bytes;
    return bytes;
  };
  const std::uint64_t before = used();
  for (DeviceReport& device : report.devices) device.facts.measured_by.clear();

  count_unmeasured_with_others(report);

  EXPECT_EQ(used(), before);
  for (const LedgerEntry& row : report.ledger) {
    EXPECT_TRUE(row_of(row) != LedgerRow::contexts && row_of(row) != LedgerRow::modules);
  }
  count_unmeasured_with_others(report);
  EXPECT_EQ(used(), before);
}

TEST(Report, MeasuresNoMorePartsThanThereIs) {
  ReportParts parts = sample_parts();
  parts.devices[1].outside_bytes = 100;  // device 0

  const Report report = assemble(std::move(parts));

  ASSERT_EQ(report.ledger.size(), 6U);
  EXPECT_EQ(report.ledger[5].owner, "contexts");
  EXPECT_EQ(report.ledger[5].device_bytes, 100U);
}

TEST(Report, EachAxisAddsUpToItsKind) {
  const Report report = assemble(sample_parts());
  for (const KindFacts& kind : report.kinds) {
    if (kind.kind == Kind::registered) continue;  // of unknown origin
    std::map<Axis, std::uint64_t> live;
    for (const AxisEntry& entry : report.axes) {
      if (entry.kind == kind.kind) live[entry.axis] += entry.totals.live_bytes;
    }
    ASSERT_EQ(live.size(), kAxes);
    for (const auto& [axis, bytes] : live) EXPECT_EQ(bytes, kind.current_bytes);
  }
}

TEST(Report, NamesTheValuesOfItsAxes) {
  const Report report = assemble(sample_parts());
  std::set<std::string> names;
  for (const AxisEntry& entry : report.axes) names.insert(entry.value);

  for (const char* name : {"PyTorch", "program", "train 4711", "others", "default", "none", "step",
                           "step/nccl:reduce", "cuMemAlloc_v2", "cuMemHostAlloc", "512"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Report, TellsWhoMadeThePeakAndWhen) {
  const Report report = assemble(sample_parts());

  EXPECT_EQ(report.kinds[0].peak_ns, 500'000'000U);
  EXPECT_EQ(report.kinds[0].peak_site, 0);
  EXPECT_EQ(report.kinds[0].peak_thread, "others");
  EXPECT_EQ(report.kinds[0].peak_range, "step/nccl:reduce");
  EXPECT_EQ(report.kinds[1].peak_site, -1);
}

TEST(Report, TellsTheAgesOfWhatIsLive) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.sites[0].live_by_age.size(), 10U);
  EXPECT_EQ(report.sites[0].live_by_age[0], 20U * (1 << 20) - 10 + 4000);
  std::uint64_t last = 0;
  for (const Site& site : report.sites) last += site.live_by_age.empty() ? 0 : site.live_by_age[9];
  EXPECT_EQ(last, 1000U);
}

// A program that ran out of memory within a second and took ten to exit kept everything on purpose.
TEST(Report, AgesEndWithTheLastChangeOfWhatWasHeld) {
  ReportParts parts = sample_parts();
  parts.memory.taken_ns += 10'000'000'000;

  const Report report = assemble(std::move(parts));

  std::uint64_t first = 0;
  for (const Site& site : report.sites) first += site.live_by_age.empty() ? 0 : site.live_by_age[0];
  EXPECT_EQ(first, 20U * (1 << 20) - 10 + 4000);
}

TEST(Report, SurvivesTagsThatTheRecorderDoesNotKnow) {
  ReportParts parts = sample_parts();
  parts.recorder.tags = {};
  parts.recorder.sites = {};

  const Report report = assemble(std::move(parts));

  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_TRUE(report.sites[0].frames.empty());
}

TEST(MemoryStats, AreSortedAndHaveTheDocumentedAlias) {
  const Report report = assemble(sample_parts());
  const FlatStats stats = memory_stats(report.devices[0]);

  // 9 pooled statistics of 12 numbers, the alias, 2 single ones of 4, 5 counts and a setting.
  EXPECT_EQ(stats.size(), 9U * 12 + 12 + 2 * 4 + 5 + 1);
  EXPECT_TRUE(std::ranges::is_sorted(stats));
  EXPECT_EQ(value_of(stats, "allocated.all.current"), value_of(stats, "allocation.all.current"));
  EXPECT_EQ(value_of(stats, "max_split_size"), -1);
  EXPECT_EQ(value_of(stats, "reserved_bytes.large_pool.peak"), 20 << 20);
}

TEST(MemoryStats, AreEmptyBeforeFirstUse) {
  EXPECT_TRUE(memory_stats(DeviceReport{}).empty());
  EXPECT_TRUE(memory_stats(HostReport{}).empty());
}

TEST(MemoryStats, TellTimesOfTheHostInMicroseconds) {
  const FlatStats stats = memory_stats(assemble(sample_parts()).host);

  EXPECT_EQ(stats.size(), 6U * 4 + 2 + 2 * 5);
  EXPECT_EQ(value_of(stats, "host_alloc_time.total"), 180);
  EXPECT_EQ(value_of(stats, "host_alloc_time.avg"), 90);
  EXPECT_EQ(value_of(stats, "host_alloc_time.count"), 2);
  EXPECT_EQ(value_of(stats, "host_free_time.max"), 0);
  EXPECT_EQ(value_of(stats, "allocated.current"), 2);
}

TEST(Words, OfTriggersAndLedgersAreReadAsTheyAreWritten) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Trigger::untold); ++i) {
    EXPECT_EQ(trigger_of(word_of(static_cast<Trigger>(i))), static_cast<Trigger>(i));
  }
  EXPECT_EQ(trigger_of(""), Trigger::untold);
  for (const char* const word : {"untold", "other", "tomorrow"}) {
    EXPECT_EQ(trigger_of(word), Trigger::other) << word;
  }
  for (const LedgerRow row :
       {LedgerRow::cached, LedgerRow::pools, LedgerRow::contexts, LedgerRow::modules,
        LedgerRow::exported, LedgerRow::before, LedgerRow::others}) {
    const auto [kind, owner] = words_of(row);
    EXPECT_EQ(row_of(kind, owner), row) << kind << ' ' << owner;
  }
  EXPECT_EQ(row_of("cached", "PyTorch"), LedgerRow::cached);
  EXPECT_EQ(row_of("unaccounted", "driver"), LedgerRow::unaccounted);
  EXPECT_EQ(row_of("others", "4711 (train)"), LedgerRow::others);
  EXPECT_EQ(row_of("pinned", "contexts"), LedgerRow::memory);
}

}  // namespace
}  // namespace vramscope
