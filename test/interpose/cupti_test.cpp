// CUPTI's records, made here: what they add up to and where they disagree with our own.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "interpose/tools/cupti_memory.h"
#include "interpose/tools/cupti_records.h"

namespace vramscope {
namespace {

CuptiRecord allocation(std::uint64_t address, std::uint64_t bytes, std::string_view source = "",
                       Kind kind = Kind::device) {
  return {.kind = kind, .address = address, .bytes = bytes, .source = source};
}
CuptiRecord release(std::uint64_t address) {
  return {.what = CuptiRecord::What::release, .address = address};
}

SegmentSnapshot segment(std::uint64_t address, std::uint64_t bytes, Kind kind = Kind::device) {
  SegmentSnapshot result;
  result.place = {.kind = kind, .device = 0, .context = 0};
  result.address = address;
  result.total_size = bytes;
  return result;
}
Snapshot snapshot(std::vector<SegmentSnapshot> segments) {
  Snapshot memory;
  memory.segments = std::move(segments);
  return memory;
}

TEST(CuptiMemory, ConfirmsSegmentsOfTheSameAddressAndBytes) {
  CuptiMemory cupti;
  cupti.take(allocation(0x1000, 100));
  cupti.take(allocation(0x2000, 50, "", Kind::pinned));
  cupti.take(allocation(0x3000, 7));
  cupti.take(release(0x3000));

  const CuptiFacts facts =
      cupti.compare(snapshot({segment(0x1000, 100), segment(0x2000, 50, Kind::pinned)}));

  EXPECT_EQ(facts.records, 4U);
  EXPECT_EQ(facts.confirmed_segments, 2U);
  EXPECT_EQ(facts.confirmed_bytes, 150U);
  EXPECT_EQ(facts.difference_count, 0U);
}

TEST(CuptiMemory, TellsEachDifferenceApart) {
  CuptiMemory cupti;
  cupti.take(allocation(0x1000, 100, "/a.so"));
  cupti.take(allocation(0x2000, 50, "/b.so"));

  const CuptiFacts facts = cupti.compare(snapshot({segment(0x1000, 99), segment(0x3000, 8)}));

  ASSERT_EQ(facts.differences.size(), 3U);
  EXPECT_EQ(facts.differences[0].what, Disagreement::other_size);
  EXPECT_EQ(facts.differences[0].recorded_bytes, 99U);
  EXPECT_EQ(facts.differences[0].cupti_bytes, 100U);
  EXPECT_EQ(facts.differences[1].what, Disagreement::not_seen);
  EXPECT_EQ(facts.differences[1].address, 0x3000U);
  EXPECT_EQ(facts.differences[2].what, Disagreement::not_recorded);
  EXPECT_EQ(facts.differences[2].source, "/b.so");
  EXPECT_EQ(facts.difference_count, 3U);
}

TEST(CuptiMemory, ComparesOnlyWhatBothKnowInTheSameWay) {
  CuptiMemory cupti;
  cupti.take(allocation(0x1000, 100, "", Kind::array));
  cupti.take(allocation(0x2000, 100, "", Kind::external));
  cupti.take(allocation(0x5010, 16));  // inside a mapping of ours

  const CuptiFacts facts = cupti.compare(
      snapshot({segment(0x4000, 64, Kind::registered), segment(0x5000, 64, Kind::mapping)}));

  EXPECT_EQ(facts.difference_count, 0U);
}

TEST(CuptiMemory, AReleaseMayOvertakeItsAllocation) {
  CuptiMemory cupti;
  cupti.take(release(0x1000));
  cupti.take(allocation(0x1000, 100, "/a.so"));

  const CuptiFacts facts = cupti.compare({});

  EXPECT_EQ(facts.difference_count, 0U);
  ASSERT_EQ(facts.sources.size(), 1U);
  EXPECT_EQ(facts.sources[0].live_bytes, 0U);
  EXPECT_EQ(facts.sources[0].total_bytes, 100U);
}

TEST(CuptiMemory, AddressesThatComeAgainHaveANewLife) {
  CuptiMemory cupti;
  cupti.take(allocation(0x1000, 100, "/a.so"));
  cupti.take(allocation(0x1000, 30, "/b.so"));  // the end of the first was never told

  const CuptiFacts facts = cupti.compare(snapshot({segment(0x1000, 30)}));

  EXPECT_EQ(facts.confirmed_bytes, 30U);
  EXPECT_EQ(facts.sources.at(0).path, "/a.so");
  EXPECT_EQ(facts.sources.at(0).live_bytes, 0U);
  EXPECT_EQ(facts.sources.at(1).live_bytes, 30U);
}

TEST(CuptiMemory, ListsTheFirstDifferencesAndCountsAll) {
  CuptiMemory cupti;
  for (std::uint64_t i = 0; i < 1000; ++i) cupti.take(allocation(i << 12, 1));

  const CuptiFacts facts = cupti.compare({});

  EXPECT_EQ(facts.difference_count, 1000U);
  EXPECT_EQ(facts.differences.size(), CuptiMemory::kMaxDifferences);
}

TEST(CuptiMemory, KeepsOnlySoManySourcesApart) {
  CuptiMemory cupti;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    cupti.take(allocation(i << 12, 1, "/lib" + std::to_string(i)));
  }

  const CuptiFacts facts = cupti.compare({});

  EXPECT_EQ(facts.sources.size(), CuptiMemory::kMaxSources + 1);
  EXPECT_EQ(facts.sources.at(0).path, "others");
  EXPECT_EQ(facts.sources.at(0).total_count, 1000U - CuptiMemory::kMaxSources);
}

TEST(CuptiMemory, CountsWhatHappensToPools) {
  CuptiMemory cupti;
  for (const auto what : {CuptiRecord::What::pool_created, CuptiRecord::What::pool_created,
                          CuptiRecord::What::pool_trimmed, CuptiRecord::What::pool_destroyed}) {
    cupti.take({.what = what});
  }

  const CuptiFacts facts = cupti.compare({});

  EXPECT_EQ(facts.pools_created, 2U);
  EXPECT_EQ(facts.pools_trimmed, 1U);
  EXPECT_EQ(facts.pools_destroyed, 1U);
}

// Any records at all: sums stay true.
TEST(CuptiMemory, SourcesAddUpWhateverComes) {
  std::mt19937_64 random(20261121);
  CuptiMemory cupti;
  std::uint64_t total = 0;
  for (int i = 0; i < 20000; ++i) {
    CuptiRecord record = allocation(random() % 64, random() % 1000, random() % 2 ? "/a" : "/b");
    record.what = static_cast<CuptiRecord::What>(random() % 5);
    if (record.what == CuptiRecord::What::allocation) total += record.bytes;
    cupti.take(record);
  }

  const CuptiFacts facts = cupti.compare({});

  std::uint64_t live = 0, all = 0, listed = 0;
  for (const CuptiSource& source : facts.sources) {
    live += source.live_bytes;
    all += source.total_bytes;
  }
  for (const CuptiDifference& difference : facts.differences) listed += difference.cupti_bytes;
  EXPECT_EQ(all, total);
  EXPECT_EQ(live, listed);
  EXPECT_EQ(facts.records, 20000U);
}

CUpti_ActivityMemory4 memory_record() {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = 0x1000;
  record.bytes = 64;
  record.deviceId = 3;
  record.source = "/a.so";
  return record;
}
template <class Record>
std::optional<CuptiRecord> read(const Record& record, bool has_source = true) {
  const void* const beginning = &record;
  return read_record(*static_cast<const CUpti_Activity*>(beginning), has_source);
}

TEST(CuptiRecords, AreReadByKind) {
  CUpti_ActivityMemory4 record = memory_record();
  const auto plain = read(record);
  record.isAsync = 1;
  const auto pooled = read(record);
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  const auto pinned = read(record);

  ASSERT_TRUE(plain && pooled && pinned);
  EXPECT_EQ(plain->kind, Kind::device);
  EXPECT_EQ(plain->device, 3U);
  EXPECT_EQ(plain->address, 0x1000U);
  EXPECT_EQ(plain->bytes, 64U);
  EXPECT_EQ(plain->source, "/a.so");
  EXPECT_EQ(pooled->kind, Kind::stream_ordered);
  EXPECT_EQ(pinned->kind, Kind::pinned);
  EXPECT_EQ(pinned->what, CuptiRecord::What::release);
}

TEST(CuptiRecords, OfALibraryThatTellsNoSourceHaveNone) {
  EXPECT_EQ(read(memory_record(), false)->source, "");
}

TEST(CuptiRecords, OfOtherThingsAreNone) {
  CUpti_ActivityMemory4 record = memory_record();
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID;
  EXPECT_FALSE(read(record));
  record.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  EXPECT_FALSE(read(record));
}

TEST(CuptiRecords, OfPoolsTellWhatHappened) {
  CUpti_ActivityMemoryPool2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;

  const auto trimmed = read(record);

  ASSERT_TRUE(trimmed);
  EXPECT_EQ(trimmed->what, CuptiRecord::What::pool_trimmed);
}

}  // namespace
}  // namespace vramscope
