// A hand-made report that the views' tests show.
// SPDX-License-Identifier: Apache-2.0
#include "test/view/sample_report.h"

#include <map>

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSecond = 1'000'000'000;

Duration duration(std::uint64_t count, std::uint64_t total_ns, std::uint64_t max_ns) {
  Duration result{
      .count = count, .total_ns = total_ns, .min_ns = 1, .max_ns = max_ns, .histogram = {}};
  result.histogram[histogram_bucket(total_ns / count)] = count;
  return result;
}

DeviceReport used_device() {
  DeviceReport device;
  device.facts = {.index = 0,
                  .name = "NVIDIA H200",
                  .uuid = "",
                  .pci_bus_id = "",
                  .compute_capability = "9.0",
                  .total_bytes = 128 * 1024 * kMiB,
                  .free_bytes = 0,
                  .free_bytes_age_ns = 0};
  device.facts.measured_by = word_of(MeasuredBy::nvml);
  device.used = true;
  device.statistics.allocation.all = {.current = 2, .peak = 30, .allocated = 1000, .freed = 998};
  device.statistics.allocated_bytes.all = {
      .current = 4 << 20, .peak = 768 << 20, .allocated = 1LL << 40, .freed = 1LL << 40};
  device.statistics.requested_bytes.all = {
      .current = 4 << 20, .peak = 760 << 20, .allocated = 1LL << 40, .freed = 1LL << 40};
  device.statistics.reserved_bytes.all = {
      .current = 1 << 30, .peak = 1 << 30, .allocated = 1 << 30, .freed = 0};
  device.statistics.active_bytes.all = device.statistics.allocated_bytes.all;
  device.statistics.active_bytes.large_pool.peak = 764 << 20;
  device.statistics.reserved_bytes.small_pool.peak = 6 << 20;
  device.timing.alloc_hit = duration(990, 990 * 100, 400);
  device.timing.alloc_driver = duration(10, 10 * 100'000, 300'000);
  device.timing.free_hit = duration(998, 998 * 100, 400);
  return device;
}

Site site(std::vector<std::uint32_t> frames, Kind kind, std::uint64_t peak, std::uint64_t live) {
  const SiteTotals totals{.live_bytes = live,
                          .live_count = live == 0 ? 0u : 2u,
                          .peak_bytes = peak,
                          .peak_count = 3,
                          .total_bytes = 2 * peak,
                          .total_count = 9,
                          .total_ns = 1000};
  return {.frames = std::move(frames),
          .totals = totals,
          .parts = {{.kind = kind, .device = 0, .totals = totals}}};
}

}  // namespace

Report sample_report() {
  Report report;
  report.tool_version = "0.1.0";
  report.trigger = "exit";
  report.process = {.pid = 4711,
                    .ppid = 1,
                    .hostname = "node1",
                    .executable = "/app/train",
                    .arguments = {"train", "--epochs", "3"},
                    .rank = -1,
                    .start_time_ns = 1000 * kSecond,
                    .report_time_ns = 1012 * kSecond,
                    .mode = "cache",
                    .options = {},
                    .cuda_driver_version = 13000,
                    .simulated = true};
  report.devices = {used_device(), DeviceReport{}};
  report.devices[1].facts.index = 1;
  report.host.used = true;
  report.host.statistics.num_host_alloc = 4;
  report.host.timing.alloc_driver = duration(4, 2'000'000, 900'000);
  report.ledger = {{.device = 0,
                    .kind = "device",
                    .owner = "program",
                    .current_bytes = 4 * kMiB,
                    .peak_bytes = 760 * kMiB,
                    .calls = 1000,
                    .device_bytes = 4 * kMiB},
                   {.device = 0,
                    .kind = "pinned",
                    .owner = "program",
                    .current_bytes = 0,
                    .peak_bytes = 64 * kMiB,
                    .calls = 4}};
  report.kinds = {{.kind = Kind::device,
                   .device = 0,
                   .current_bytes = 4 * kMiB,
                   .peak_bytes = 760 * kMiB,
                   .peak_ns = 5 * kSecond,
                   .peak_site = 1,
                   .peak_thread = "train 4711",
                   .peak_range = "none",
                   .allocations = 1000,
                   .frees = 998},
                  {.kind = Kind::pinned,
                   .device = 0,
                   .current_bytes = 0,
                   .peak_bytes = 64 * kMiB,
                   .allocations = 4,
                   .frees = 4}};
  report.axes = {{.axis = Axis::thread, .value = "train 4711", .totals = {.total_count = 1004}}};
  report.modules = {{.path = "/app/train", .build_id = "", .base = 0},
                    {.path = "/cuda/lib64/libcudart.so.12", .build_id = "", .base = 0},
                    {.path = "/app/libnet.so", .build_id = "", .base = 0}};
  report.frames = {{.module = 1, .offset = 0x10}, {.module = 0, .offset = 0x20},
                   {.module = 0, .offset = 0x30}, {.module = 2, .offset = 0x40},
                   {.module = 0, .offset = 0x50}, {.module = 0, .offset = 0x60}};
  report.sites = {site({0, 1, 2}, Kind::device, 512 * kMiB, 0),
                  site({0, 3, 2}, Kind::device, 256 * kMiB, 4 * kMiB),
                  site({4, 5, 2}, Kind::pinned, 64 * kMiB, 0)};
  return report;
}

OomReport sample_refusals() {
  return {.count = 2,
          .events = {{.number = 1,
                      .time_ns = 5 * kSecond,
                      .function = "cuMemAlloc_v2",
                      .kind = Kind::device,
                      .device = 0,
                      .bytes = 300 * kMiB,
                      .site = 1,
                      .thread = "train 4711",
                      .range = "epoch/forward",
                      .has_details = true,
                      .total_bytes = 1024 * kMiB,
                      .free_bytes = 124 * kMiB,
                      .reserved_bytes = 800 * kMiB,
                      .allocated_bytes = 300 * kMiB,
                      .requested_bytes = 290 * kMiB,
                      .allocation_count = 90,
                      .split_free_bytes = 500 * kMiB,
                      .largest_free_bytes = 17 * kMiB,
                      .outside_bytes = 100 * kMiB,
                      .context_bytes = 60 * kMiB,
                      .native_free_bytes = 612 * kMiB,
                      .shares = {{.site = 0, .live_bytes = 200 * kMiB, .live_count = 45}},
                      .owners = {{.owner = "program", .live_bytes = 290 * kMiB}},
                      .pins = {{.site = 0,
                                .segments = 30,
                                .total_size = 600 * kMiB,
                                .free_bytes = 500 * kMiB,
                                .largest_free_bytes = 17 * kMiB,
                                .live_bytes = 100 * kMiB,
                                .live_count = 33}}},
                     {.number = 2,
                      .time_ns = 6 * kSecond,
                      .kind = Kind::pinned,
                      .bytes = 64 * kMiB,
                      .site = 2,
                      .thread = "train 4711"}}};
}

NameFrame sample_names() {
  return [](const Report&, const FrameFact& frame) -> std::vector<SourceFrame> {
    static const std::map<std::uint64_t, std::vector<SourceFrame>> kNames = {
        {0x10, {{"cudaMalloc", "", 0}}},
        {0x20,
         {{"cudaMalloc<float>(float**, unsigned long)", "/cuda/cuda_runtime.h", 7, true},
          {"make_weights(int, float)", "/src/train.cpp", 42}}},
        {0x30, {{"main", "/src/train.cpp", 99}}},
        {0x50, {{"libcudart_static_1a2b", "", 0}}},
        {0x60, {{"cudaMallocHost", "", 0}}}};
    const auto found = kNames.find(frame.offset);
    return found == kNames.end() ? std::vector<SourceFrame>{} : found->second;
  };
}

}  // namespace vramscope
