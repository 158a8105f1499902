// The parts of the sample report, with numbers that agree with each other.
// SPDX-License-Identifier: Apache-2.0
#include "test/reporter/sample.h"

#include "reporter/report/oom.h"

namespace vramscope {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kStart = 77'000'000'000;  // of a clock that began with the machine

Duration duration(std::uint64_t count, std::uint64_t each_ns, std::size_t bucket) {
  Duration time{.count = count,
                .total_ns = count * each_ns,
                .min_ns = each_ns,
                .max_ns = each_ns,
                .histogram = {}};
  time.histogram[bucket] = count;
  return time;
}

DeviceStatistics device_statistics() {
  DeviceStatistics statistics;
  const auto add = [](PooledStat& stat, std::int64_t small, std::int64_t large) {
    stat.all.increase(small + large);
    stat.small_pool.increase(small);
    stat.large_pool.increase(large);
  };
  add(statistics.allocation, 1, 1);
  add(statistics.segment, 1, 1);
  add(statistics.active, 1, 1);
  add(statistics.inactive_split, 1, 0);
  add(statistics.allocated_bytes, 1024, 20 * kMiB);
  add(statistics.reserved_bytes, 2 * kMiB, 20 * kMiB);
  add(statistics.active_bytes, 1024, 20 * kMiB);
  add(statistics.inactive_split_bytes, 2 * kMiB - 1024, 0);
  add(statistics.requested_bytes, 1000, 20 * kMiB - 10);
  statistics.num_device_alloc = 2;
  return statistics;
}

HostStatistics host_statistics() {
  HostStatistics statistics;
  statistics.allocated.increase(2);
  statistics.allocated_bytes.increase(4096 + 8192);
  statistics.segment.increase(2);
  statistics.reserved_bytes.increase(4096 + 8192);
  statistics.active_requests.increase(2);
  statistics.active_bytes.increase(4096 + 8192);
  statistics.num_host_alloc = 2;
  return statistics;
}

TagTotals tag_totals(std::uint64_t bytes) {
  return {.live_bytes = bytes,
          .live_count = 1,
          .peak_bytes = bytes,
          .peak_count = 1,
          .total_bytes = bytes,
          .total_count = 1};
}

SegmentSnapshot segment(Place place, Address address, std::uint64_t size, std::uint64_t used,
                        std::uint64_t requested, std::uint32_t first, std::uint32_t count) {
  return {.place = place,
          .address = address,
          .total_size = size,
          .allocated_size = used,
          .active_size = used,
          .requested_size = requested,
          .is_small = size == 2 * kMiB,
          .is_direct = place.kind == Kind::registered,
          .first_block = first,
          .block_count = count};
}

Snapshot memory() {
  constexpr auto kLive = BlockState::active_allocated;
  Snapshot memory;
  memory.devices = {{.device = 0, .statistics = device_statistics()}};
  memory.host = host_statistics();
  memory.host_used = true;
  memory.kinds = {{Kind::device, 0, 20 * kMiB + 990, 20 * kMiB + 990, 2, 0},
                  {Kind::pinned, 0, 4000, 4000, 1, 0},
                  {Kind::registered, 0, 8192, 8192, 1, 0}};
  const Place device{.kind = Kind::device, .device = 0, .context = 1};
  memory.segments = {segment(device, 0x7f0000000000, 2 * kMiB, 1024, 1000, 0, 2),
                     segment(device, 0x7f0000200000, 20 * kMiB, 20 * kMiB, 20 * kMiB - 10, 2, 1),
                     segment({.kind = Kind::pinned, .device = 0, .context = 1}, 0x7e0000000000,
                             4096, 4096, 4000, 3, 1),
                     segment({.kind = Kind::registered, .device = 0, .context = 1}, 0x7e0000100000,
                             8192, 8192, 8192, 4, 1)};
  memory.blocks = {{0x7f0000000000, 1024, 1000, 1, kLive},
                   {0x7f0000000400, 2 * kMiB - 1024, 0, 0, BlockState::inactive},
                   {0x7f0000200000, 20 * kMiB, 20 * kMiB - 10, 2, kLive},
                   {0x7e0000000000, 4096, 4000, 3, kLive},
                   {0x7e0000100000, 8192, 8192, 0, kLive}};
  memory.tags = {tag_totals(8192), tag_totals(1000), tag_totals(20 * kMiB - 10), tag_totals(4000)};
  std::vector<TagTotals>& tags = memory.tags.own();
  tags[1].lifetimes = {0, 2, 0, 1};
  for (std::uint32_t tag : {1U, 2U}) {
    tags[tag].history = {.last = {100, 200, tag * 500ULL}, .used = 3, .doublings = 6};
  }
  memory.group_peaks = {0,    1000, 1000, 1000, 1000, 1500, 1000, 20 * kMiB, 20 * kMiB,
                        4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000,      4000};
  memory.kinds[0].peak_ns = kStart + 500'000'000;
  memory.kinds[0].peak_tag = 2;
  memory.joint_peaks = {memory.kinds[0]};
  for (std::uint32_t tag : {1U, 2U}) {
    tags[tag].joint_bytes = tags[tag].peak_bytes;
    tags[tag].joint_count = tags[tag].peak_count;
  }
  memory.timelines = {{.kind = Kind::device,
                       .device = 0,
                       .bucket_ns = 1 << 29,
                       .highest = {20 * kMiB + 990, 20 * kMiB + 990},
                       .last = {1000, 20 * kMiB + 990}}};
  memory.start_ns = kStart;
  memory.taken_ns = kStart + 1'000'000'000;
  memory.blocks[0].born_ns = kStart + 950'000'000;
  memory.blocks[2].born_ns = kStart;
  memory.allocations = 100;
  memory.blocks[2].born = 1;
  memory.blocks[3].born = 2;
  memory.blocks[0].born = 100;
  return memory;
}

RecorderFacts recorder() {
  RecorderFacts facts;
  facts.functions = {{.calls = 3, .failures = 1, .time = duration(3, 1500, 10)},
                     {.calls = 0, .failures = 0, .time = {}},
                     {.calls = 2, .failures = 0, .time = duration(2, 90000, 16)}};
  Timing device;
  device.alloc_hit = duration(1, 120, 6);
  device.alloc_driver = duration(2, 1500, 10);
  facts.devices = {{0, device}};
  facts.host.alloc_driver = duration(2, 90000, 16);
  facts.modules = {{"/usr/bin/train", "0123456789abcdef", 0x555500000000},
                   {"/usr/lib/lib\xff\"odd\\\n.so", "", 0x7fff00000000}};
  facts.sources = {{"/home/who/train.py", 1234, 1'700'000'000'123'456'789}, {"<string>", 0, 0}};
  facts.codes = {{"Loader.load_batch", 0, 80}, {"<module>", 1, 1}};
  facts.frames = {{0, 0x1139}, {0, 0x1200},      {1, 0x42},           {kNoModule, 0xdeadbeef},
                  {1, 0x43},   {1, 0x44, 0, 88}, {kNoModule, 0, 1, 0}};
  facts.sites = {{}, {}, {{0, 1}}, {{2, 5, 6, 1}}, {{3}}, {{4}}};
  const Place device_place{.kind = Kind::device, .device = 0, .context = 0};
  const Place pinned_place{.kind = Kind::pinned, .device = 0, .context = 0};
  // By owner, thread, stream, range, function and size class: values, and groups of them.
  facts.tags = {
      {},
      {2, device_place, {0, 1, 0, 0, 0, 10}, {1, 2, 3, 4, 5, 6}, 1500, 1, Sampling::taken},
      {3,
       device_place,
       {1, kOtherValue, 1, 2, 0, 25},
       {7, 8, 9, 10, 5, 11},
       3000,
       0,
       Sampling::taken},
      {3, pinned_place, {1, 1, 0, 1, 2, 12}, {12, 13, 14, 15, 16, 17}, 90000, 0, Sampling::taken},
      {5, device_place, {0, 1, 0, 0, 0, 10}, {1, 2, 3, 4, 5, 6}, 0, 0}};
  facts.owners = {"program", "PyTorch"};
  facts.threads = {{}, {4711, "train"}};
  facts.streams = {{}, {0}};
  facts.ranges = {{}, {0, "", "step", 3}, {1, "nccl", "reduce", 6}};
  facts.range_marks = 2;
  facts.marks = {{kStart + 1500000, "warm"}, {kStart + 2500000, "nccl:done"}};
  facts.dropped_stacks = 4;
  facts.unrecorded_calls = 1;
  facts.warnings = {"libunwind is missing: stacks by frame pointers"};
  return facts;
}

}  // namespace

Refusal sample_refusal() {
  Refusal refusal{.number = 1, .total_bytes = 85899345920, .free_bytes = 800 * kMiB};
  refusal.event.place = {.kind = Kind::device, .device = 0};
  refusal.event.tag = 1;
  refusal.event.bytes = 1 << 30;
  refusal.event.start_ns = kStart + 700'000'000;
  return refusal;
}

ReportParts sample_parts() {
  ReportParts parts;
  parts.trigger = "signal";
  parts.commit = "b55cfdc123456";
  parts.sequence = 2;
  parts.process = {.pid = 4711,
                   .ppid = 1,
                   .hostname = "node7",
                   .executable = "/usr/bin/train",
                   .arguments = {"train", "--name", "caf\xc3\xa9 \xff"},
                   .rank = -1,
                   .local_rank = 1,
                   .world_size = 8,
                   .restart = 0,
                   .job = "4711.0",
                   .launcher = "Slurm",
                   .start_time_ns = 1700000000000000000,
                   .report_time_ns = 1700000001000000000,
                   .mode = "cache",
                   .options = {{"stacks", "unwind"}, {"mode", "cache"}},
                   .cuda_driver_version = 13000,
                   .simulated = false};
  parts.devices = {{.index = 1,
                    .name = "NVIDIA Example",
                    .uuid = "GPU-1",
                    .pci_bus_id = "0000:02:00.0",
                    .compute_capability = "9.0",
                    .unified = true,
                    .total_bytes = 85899345920,
                    .free_bytes = 85000000000,
                    .free_bytes_age_ns = 5000,
                    .measured_by = word_of(MeasuredBy::nvml)},
                   {.index = 0,
                    .name = "NVIDIA Example",
                    .uuid = "GPU-0",
                    .pci_bus_id = "0000:01:00.0",
                    .compute_capability = "9.0",
                    .total_bytes = 85899345920,
                    .free_bytes = 84000000000,
                    .free_bytes_age_ns = 7000,
                    .limit_bytes = 42949672960,
                    .limit_refusals = 3,
                    .outside_bytes = 600 * kMiB,
                    .context_bytes = 400 * kMiB,
                    .module_bytes = 50 * kMiB,
                    .measured_by = word_of(MeasuredBy::nvml),
                    .other_processes = {{.pid = 815, .name = "python3", .bytes = 20 * kMiB}},
                    .exported_bytes = 30 * kMiB,
                    .pool_bytes = 40 * kMiB,
                    .pool_pending_bytes = 10 * kMiB,
                    .pages = {.map = duration(32, 66000, 16),
                              .access = duration(2, 37000, 15),
                              .unmap = duration(10, 34000, 15)}}};
  parts.sample_bytes = 4096;
  parts.cupti = {.records = 7,
                 .dropped_records = 1,
                 .confirmed_segments = 2,
                 .confirmed_bytes = 22 * kMiB,
                 .difference_count = 2,
                 .differences = {{.what = Disagreement::not_seen,
                                  .kind = Kind::pinned,
                                  .device = 0,
                                  .address = 0x7e0000000000,
                                  .recorded_bytes = 4096,
                                  .cupti_bytes = 0},
                                 {.what = Disagreement::not_recorded,
                                  .kind = Kind::device,
                                  .device = 1,
                                  .address = 0x7d0000000000,
                                  .recorded_bytes = 0,
                                  .cupti_bytes = kMiB,
                                  .source = "/opt/libodd.so"}},
                 .sources = {{"/opt/libodd.so", kMiB, 2 * kMiB, 2}},
                 .pools_created = 3,
                 .pools_destroyed = 1,
                 .pools_trimmed = 2};
  parts.function_names = {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc"};
  parts.memory = memory();
  parts.recorder = recorder();
  parts.trace = {.path = "/data/train.trace",
                 .events = 12,
                 .bytes = 4096,
                 .lost = 3,
                 .problem = "No space left on device"};
  parts.recorder.tags.own()[1].refused_count = 1;
  parts.recorder.tags.own()[1].refused_bytes = 1 << 30;
  parts.oom = {.count = 3, .events = {describe_refusal(parts, sample_refusal())}};
  parts.oom.events[0].is_watched = true;
  Event served = sample_refusal().event;
  served.start_ns += 5000;
  add_served(parts, served, parts.oom.events[0]);
  return parts;
}

}  // namespace vramscope
