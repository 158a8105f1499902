// What PyTorch's own tests and documents pin down with numbers, as rows of one table.
// SPDX-License-Identifier: Apache-2.0
//
// Steps, one after the other, the books checked after each:
//   a ID BYTES   allocate, must succeed     h ID BYTES   the same, pinned     x BYTES   must fail
//   f ID  free    e  empty_cache    p  reset peaks    r  reset accumulated    k N  N-th call fails
//   F FRACTION  memory limit        o SETTINGS  new settings string           = KEY VALUE
//   b COUNT BYTES   COUNT blocks are allocated, then freed
// After each step the signs of all changes are checked too: see check_signs().
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "interpose/settings/alloc_conf.h"
#include "test/allocator/allocator_fixture.h"
#include "test/allocator/golden_lines.h"

namespace vramscope::test {
namespace published_test {

struct Row {
  const char* behaviour;
  std::uint64_t capacity_mib;
  const char* steps;
};

constexpr Row kRows[] = {
    {"ThousandBytesAreTwoUnits", 64,
     "a 1 1024; = active_bytes.all.current 1024; = requested_bytes.all.current 1024; f 1; e;"
     "= active_bytes.all.freed 1024; = active_bytes.all.peak 1024; p; = active_bytes.all.peak 0"},
    {"OneByteGoesUpAndDown", 64,
     "a 1 1; = allocated_bytes.all.current 512; = requested_bytes.all.current 1; f 1;"
     "= allocated_bytes.all.current 0; = requested_bytes.all.current 0;"
     "= reserved_bytes.all.current 2097152"},
    {"AMebibyteOfRawMemoryIsCountedAsAsked", 64,
     "a 1 1048576; = requested_bytes.all.current 1048576; f 1; = requested_bytes.all.current 0"},
    {"EverythingReturnsToItsStart", 256,
     "a 1 1000; a 2 3000000; a 3 30000000; f 2; a 4 2000000; f 1; f 3; f 4; e; p; r;"
     "= allocation.all.current 0; = active.all.current 0; = requested_bytes.all.current 0;"
     "= reserved_bytes.all.current 0; = reserved_bytes.all.peak 0; = segment.all.current 0;"
     "= inactive_split.all.current 0; = inactive_split_bytes.all.current 0"},
    {"ZeroBytesChangeNothing", 64,
     "x 0; = allocation.all.allocated 0; = num_ooms 0; = num_device_alloc 0"},
    {"AnExbibyteIsRefusedUncounted", 64,
     "x 1152921504606846976; x 18446744073709551615; = num_ooms 0; = num_alloc_retries 0;"
     "x 1152921504606846975; = num_ooms 1; = num_alloc_retries 1"},
    {"SplitBlocksAreCountedByNetChanges", 64,
     "a 1 1000; = inactive_split.all.current 1; = inactive_split_bytes.all.current 2096128;"
     "a 2 1000; = inactive_split.all.current 1; = inactive_split_bytes.all.current 2095104;"
     "f 1; = inactive_split.all.current 2; = inactive_split_bytes.all.current 2096128;"
     "f 2; = inactive_split.all.current 0; = inactive_split_bytes.all.current 0"},
    {"ThreeMebibytesNeedTwoSmallSegments", 64,
     "a 1 1048576; = segment.small_pool.current 1; a 2 1048576; = segment.small_pool.current 1;"
     "a 3 1048576; = segment.small_pool.current 2"},
    {"ASmallRestStaysWithItsBlock", 64,
     "a 1 12058624; = allocated_bytes.all.current 12582912; = requested_bytes.all.current 12058624;"
     "= inactive_split.all.current 0"},
    {"EmptyCacheCountsOneSynchronisation", 64,
     "a 1 3000000; a 2 100; f 1; = reserved_bytes.all.current 23068672; e;"
     "= num_sync_all_streams 1; = num_device_free 1; = reserved_bytes.all.current 2097152;"
     "= reserved_bytes.all.peak 23068672; e; = num_sync_all_streams 2; = num_device_free 1"},
    {"ResetsLeaveWhatIsThereAlone", 64,
     "a 1 2048; a 2 2048; f 1; r; = allocated_bytes.all.allocated 0;"
     "= allocated_bytes.all.freed 0; = allocated_bytes.all.current 2048;"
     "= allocated_bytes.all.peak 4096; = num_device_alloc 0; p; = allocated_bytes.all.peak 2048"},
    {"FourDivisionsMake84MebibytesInto96", 1024,
     "o roundup_power2_divisions:4; a 1 88080384; = allocated_bytes.all.current 100663296;"
     "= requested_bytes.all.current 88080384"},
    {"EightDivisionsMake84MebibytesInto88", 1024,
     "o roundup_power2_divisions:8; a 1 88080384; = allocated_bytes.all.current 92274688"},
    {"AListRoundsByInterval", 1024,
     "o roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1];"
     "a 1 88080384; = allocated_bytes.all.current 92274688;"
     "a 2 419430400; = allocated_bytes.all.current 629145600;"
     "= requested_bytes.all.current 507510784"},
    {"ANewSettingsStringResetsRounding", 1024,
     "o roundup_power2_divisions:4; o garbage_collection_threshold:0.5; a 1 88080384;"
     "= allocated_bytes.all.current 88080384"},
    {"DivisionsLeaveSmallRequestsAlone", 64,
     "o roundup_power2_divisions:4; a 1 1200; = allocated_bytes.all.current 1536;"
     "a 2 2100; = allocated_bytes.all.current 4096"},
    {"AFractionLimitsWithoutACall", 4096,
     "F 0.5; x 2147485696; = num_ooms 1; = num_device_alloc 0; a 1 2143289344; x 8388608;"
     "= num_ooms 2"},
    {"AFractionIsASettingToo", 4096,
     "o per_process_memory_fraction:0.5; x 2147485696; = num_ooms 1; a 1 2147483648;"
     "o garbage_collection_threshold:0.5; x 512; = num_ooms 2; = num_device_alloc 1"},
    {"AFractionOfOneIsALimit", 4096, "F 1.0; x 4294969344; = num_ooms 1; a 1 4294967296"},
    {"CachedBlocksGoBackForALargeRequest", 32768,
     "a 1 9663676416; a 2 9663676416; a 3 9663676416; f 1; f 2; f 3;"
     "a 4 23622320128; = num_alloc_retries 1; = num_ooms 0; = num_device_free 3"},
    {"ThirtySecondsOfTheMemoryGoBackForSevenTenths", 32768,
     "b 27 1073741824; = reserved_bytes.all.current 28991029248; = num_alloc_retries 0;"
     "a 1 24051816857; = num_alloc_retries 1; = num_ooms 0; = num_device_free 27"},
    {"WhatIsTooLargeIsRefused", 1024,
     "a 1 3000000; f 1; x 1073742336; = num_ooms 1; = num_alloc_retries 1;"
     "= allocated_bytes.all.current 0; a 1 1048576; = num_ooms 1"},
    {"WhatIsTooLargeIsRefusedWithASplitLimitToo", 1024,
     "o max_split_size_mb:64; a 1 3000000; f 1; x 1073742336; = num_ooms 1; = num_alloc_retries 1;"
     "= allocated_bytes.all.current 0; a 1 1048576; = num_ooms 1"},
    {"ARefusedCallIsRetried", 64, "k 1; a 1 512; = num_alloc_retries 1; = num_device_alloc 1"},
    {"APolicyRejectionTriesNothing", 1024,
     "o throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.5; a 1 3000000; f 1;"
     "x 536870912; = num_oom_rejections 1; = num_ooms 0; = num_alloc_retries 0;"
     "= num_device_free 0; x 536870912; = num_oom_rejections 2"},
    {"OversizeBlocksAreNeverSplit", 1024,
     "o max_split_size_mb:64; a 1 209715200; = oversize_allocations.current 1;"
     "= oversize_segments.current 1; f 1; = oversize_allocations.freed 1;"
     "a 2 10485760; = segment.all.current 2; a 3 199229440; = segment.all.current 2;"
     "= allocated_bytes.all.current 220200960; f 3; a 4 167772160; = segment.all.current 3"},
    {"OversizeBlocksMakeRoomFirst", 400,
     "o max_split_size_mb:64; a 1 3000000; f 1; a 2 314572800; f 2; a 3 209715200;"
     "= num_alloc_retries 0; = num_device_free 1; = oversize_segments.current 1"},
    {"OldSegmentsAreCollected", 1024,
     "o garbage_collection_threshold:0.1; F 0.5; a 1 52428800; f 1; a 2 104857600;"
     "= num_device_free 0; a 3 104857600; = num_device_free 1; = num_sync_all_streams 0;"
     "= reserved_bytes.all.current 209715200"},
    {"PinnedMemoryComesInPowersOfTwo", 64,
     "h 1 40960; = host.allocated_bytes.current 65536; = host.num_host_alloc 1;"
     "h 2 81920; = host.allocated_bytes.current 196608; e; = host.num_host_free 0;"
     "= host.active_requests.current 2; f 1; = host.active_requests.current 1;"
     "= host.active_bytes.current 131072; = host.reserved_bytes.current 196608;"
     "h 3 60000; = host.num_host_alloc 2"},
};

class Published : public testing::TestWithParam<Row> {
 protected:
  Published()
      : device_({.capacity = GetParam().capacity_mib * kMiB}),
        backend_(device_),
        allocator_(backend_, limits_) {
    allocator_.open({});
  }

  void play(const std::string& step) {
    std::istringstream in(step);
    char op = 0;
    in >> op;
    const Values before = values();
    play(op, in, step);
    check_signs(op, before, values());
  }

 private:
  void play(char op, std::istringstream& in, const std::string& step) {
    std::uint64_t id = 0, bytes = 0;
    switch (op) {
      case 'a':
      case 'h':
        in >> id >> bytes;
        return allocate(id, bytes, op == 'a' ? Kind::device : Kind::pinned);
      case 'b':
        in >> id >> bytes;
        for (std::uint64_t i = 0; i < id; ++i) allocate(i, bytes, Kind::device);
        for (std::uint64_t i = 0; i < id; ++i) {
          EXPECT_TRUE(allocator_.free(addresses_.at(i)).status.ok()) << step;
        }
        return;
      case 'x':
        in >> bytes;
        EXPECT_FALSE(allocator_.allocate({.bytes = bytes}).status.ok()) << step;
        return;
      case 'f':
        in >> id;
        EXPECT_TRUE(allocator_.free(addresses_.at(id)).status.ok()) << step;
        return;
      case 'k':
        in >> id;
        return device_.fail_call(id);
      case '=':
        return compare(in);
      default:
        return set(op, in);
    }
  }

  // PyTorch's _test_memory_stats_generator: the direction of every change.
  static void check_signs(char op, const Values& before, const Values& after) {
    const auto change = [&](const std::string& key) { return after.at(key) - before.at(key); };
    for (const auto& [key, value] : after) {
      const std::string stem = key.substr(0, key.rfind('.'));
      const bool is_count = key.starts_with("num_") || key.ends_with(".allocated");
      const bool is_sum = is_count || key.ends_with(".freed");
      EXPECT_TRUE(!is_sum || op == 'r' || change(key) >= 0) << key;
      if (!key.ends_with(".peak")) continue;
      EXPECT_LE(after.at(stem + ".current"), value) << key;
      EXPECT_TRUE(op == 'p' || change(key) >= 0) << key;
      EXPECT_TRUE(op != 'p' || after.at(stem + ".current") == value) << key;
      EXPECT_TRUE(op != 'e' || change(key) == 0) << key;
    }
    EXPECT_EQ(change("allocation.all.allocated") > 0, op == 'a' || op == 'b');
    EXPECT_TRUE(op != 'e' || change("num_sync_all_streams") == 1);
    EXPECT_TRUE(op != 'e' || change("reserved_bytes.all.current") <= 0);
    EXPECT_TRUE(op != 'f' || change("reserved_bytes.all.allocated") == 0);
  }

  void allocate(std::uint64_t id, std::uint64_t bytes, Kind kind) {
    const Outcome out = allocator_.allocate({.where = {.kind = kind}, .bytes = bytes});
    EXPECT_TRUE(out.status.ok()) << bytes;
    addresses_[id] = out.address;
  }

  void set(char op, std::istringstream& in) {
    std::string settings;
    if (op == 'e') return allocator_.trim();
    if (op == 'p') return allocator_.reset_peaks();
    if (op == 'r') return allocator_.reset_accumulated();
    if (op == 'F') in >> limits_.memory_fraction;
    if (op == 'o') in >> settings, limits_ = parse_alloc_conf(settings, limits_).limits;
    allocator_.set_limits(limits_);
  }

  void compare(std::istringstream& in) {
    std::string key;
    std::int64_t expected = 0;
    in >> key >> expected;
    const Values now = values();
    ASSERT_TRUE(now.contains(key)) << key;
    EXPECT_EQ(now.at(key), expected) << key;
  }

  Values values() const {
    const Snapshot snapshot = allocator_.snapshot();
    Values values = values_of(snapshot.devices.front().statistics);
    values["num_oom_rejections"] = snapshot.devices.front().statistics.num_oom_rejections;
    for (const auto& [name, value] : values_of(snapshot.host)) values["host." + name] = value;
    return values;
  }

  Limits limits_{.exact_fallback = false};

 protected:
  simulator::SimulatedDevice device_;
  simulator::SimulatedBackend backend_;
  CachingAllocator allocator_;
  std::map<std::uint64_t, Address> addresses_;
};

TEST_P(Published, Holds) {
  std::istringstream steps(GetParam().steps);

  for (std::string step; std::getline(steps, step, ';');) {
    play(step);
    ASSERT_EQ(allocator_.check_invariants(), "") << step;
    ASSERT_FALSE(HasFailure()) << "after" << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Published, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.behaviour); });

}  // namespace published_test
}  // namespace vramscope::test
