// A report as programs make them, for the texts that are kept: templates, stacks that read alike,
// deep stacks, Python, several kinds of memory.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMs = 1'000'000;

const char* const kLongTemplate =
    "thrust::detail::vector_base<float, thrust::device_allocator<float> >::allocate_and_copy<"
    "thrust::detail::normal_iterator<float const*> >(unsigned long, "
    "thrust::detail::normal_iterator<float const*>, thrust::detail::normal_iterator<float const*>)";

// Frame i of the report is what entry i says.
const std::vector<std::vector<SourceFrame>>& names() {
  static const std::vector<std::vector<SourceFrame>> kNames = {
      {{"cudaMalloc", "", 0}},                                                         // 0
      {{"cudaMallocManaged", "", 0}},                                                  // 1
      {{"cudaMallocHost", "", 0}},                                                     // 2
      {{"make_tensor(unsigned long)", "/src/net/tensor.cpp", 31}},                     // 3
      {{"Layer::forward(Tensor const&)", "/src/net/layer.cpp", 58}},                   // 4
      {{"Layer::forward(Tensor const&)", "/src/net/layer.cpp", 61}},                   // 5
      {{"Net::step(Batch const&)", "/src/net/net.cpp", 140}},                          // 6
      {{"main", "/src/train.cpp", 99}},                                                // 7
      {{kLongTemplate, "/opt/cuda/include/thrust/vector_base.inl", 912}},              // 8
      {{"load_epoch(std::vector<std::string> const&)", "/src/data/loader.cpp", 203}},  // 9
      {{"Buffer<float>::Buffer(unsigned long)", "/src/net/buffer.h", 12}},             // 10
      {{"Buffer<double>::Buffer(unsigned long)", "/src/net/buffer.h", 12}},            // 11
      {},                                                                              // 12
      {{.function = "Linear.forward",
        .file = "/src/py/linear.py",
        .line = 125,
        .is_python = true,
        .text = "return torch.addmm(self.bias, input, self.weight.t())"}},  // 13
      {{.function = "Module._call_impl",
        .file = "/src/py/module.py",
        .line = 1527,
        .is_python = true}},  // 14
      {{.function = "Encoder.forward",
        .file = "/src/py/encoder.py",
        .line = 88,
        .is_python = true}},  // 15
      {{.function = "Decoder.forward",
        .file = "/src/py/decoder.py",
        .line = 41,
        .is_python = true}},  // 16
      {{.function = "train_one_epoch",
        .file = "/src/py/train.py",
        .line = 301,
        .is_python = true}},                                                                   // 17
      {{.function = "<module>", .file = "/src/py/train.py", .line = 410, .is_python = true}},  // 18
  };
  return kNames;
}

struct Row {
  std::vector<std::uint32_t> frames;
  Kind kind;
  std::uint64_t peak, live, total, count, temporary;
};

Site site_of(const Row& row) {
  const SiteTotals totals{.live_bytes = row.live,
                          .live_count = row.live == 0 ? 0U : 1U,
                          .peak_bytes = row.peak,
                          .peak_count = row.peak == 0 ? 0U : 2U,
                          .total_bytes = row.total,
                          .total_count = row.count,
                          .total_ns = row.count * 1500};
  Site site{.frames = row.frames,
            .totals = totals,
            .parts = {{.kind = row.kind, .device = 0, .totals = totals}}};
  site.temporary_count = row.temporary;
  site.lifetimes = {0, 0, row.temporary, row.count - row.temporary};
  site.live_past = {row.live / 4, row.live / 2};
  return site;
}

AxisEntry owner(const char* value, Kind kind, std::uint64_t peak) {
  AxisEntry entry{.axis = Axis::owner, .value = value, .device = 0, .kind = kind, .totals = {}};
  entry.totals.peak_bytes = entry.own_peak_bytes = peak;
  return entry;
}

}  // namespace

Report golden_report() {
  Report report = sample_report();
  report.process.arguments = {"./train", "--data", "/data/imagenet", "--epochs", "90"};
  report.process.mode = "cache";
  report.process.options = {{"policy", "native-safe"}};
  report.modules = {{.path = "/app/bin/train", .build_id = "", .base = 0},
                    {.path = "/cuda/lib64/libcudart.so.13", .build_id = "", .base = 0},
                    {.path = "/app/lib/libkernels.so", .build_id = "", .base = 0}};
  report.frames.clear();
  for (std::uint32_t i = 0; i < names().size(); ++i) {
    const std::uint32_t module = i < 3 ? 1 : i == 12 ? 2 : i < 13 ? 0 : kNoModule;
    report.frames.push_back({.module = module, .offset = 0x1000 + 16 * i});
  }
  report.sites.clear();
  for (const Row& row :
       std::vector<Row>{{{0, 8, 9, 7}, Kind::device, 300 * kMiB, 0, 600 * kMiB, 2, 0},
                        {{0, 3, 4, 6, 7}, Kind::device, 200 * kMiB, 0, 3200 * kMiB, 1600, 1200},
                        {{0, 3, 5, 6, 7}, Kind::device, 120 * kMiB, 0, 1920 * kMiB, 1600, 0},
                        {{0, 10, 6, 7}, Kind::device, 64 * kMiB, 4 * kMiB, 64 * kMiB, 16, 0},
                        {{0, 11, 6, 7}, Kind::device, 40 * kMiB, 0, 40 * kMiB, 10, 0},
                        {{0, 13, 14, 15, 14, 17, 18}, Kind::device, 20 * kMiB, 0, 80 * kMiB, 40, 8},
                        {{0, 13, 14, 16, 14, 17, 18}, Kind::device, 16 * kMiB, 0, 64 * kMiB, 32, 8},
                        {{1, 12, 7}, Kind::managed, 96 * kMiB, 0, 96 * kMiB, 1, 0},
                        {{2, 9, 7}, Kind::pinned, 64 * kMiB, 64 * kMiB, 64 * kMiB, 4, 0}}) {
    report.sites.push_back(site_of(row));
  }
  report.kinds = {{.kind = Kind::device,
                   .current_bytes = 4 * kMiB,
                   .peak_bytes = 760 * kMiB,
                   .peak_ns = 5000 * kMs,
                   .peak_site = 0,
                   .peak_thread = "train 4711",
                   .peak_range = "epoch 3/forward",
                   .allocations = 3300,
                   .frees = 3299},
                  {.kind = Kind::managed,
                   .peak_bytes = 96 * kMiB,
                   .peak_ns = 40 * kMs,
                   .peak_site = 7,
                   .peak_thread = "train 4711",
                   .peak_range = "none",
                   .allocations = 1,
                   .frees = 1},
                  {.kind = Kind::pinned,
                   .current_bytes = 64 * kMiB,
                   .peak_bytes = 64 * kMiB,
                   .peak_ns = 12 * kMs,
                   .peak_site = 8,
                   .peak_thread = "loader 4712",
                   .peak_range = "none",
                   .allocations = 4,
                   .frees = 0}};
  report.axes = {
      owner("program", Kind::device, 724 * kMiB), owner("libkernels.so", Kind::device, 36 * kMiB),
      owner("libkernels.so", Kind::managed, 96 * kMiB), owner("program", Kind::pinned, 64 * kMiB),
      AxisEntry{.axis = Axis::thread, .value = "train 4711", .totals = {.total_count = 3300}}};
  report.ledger = {
      {.device = 0,
       .kind = "device",
       .owner = "program",
       .current_bytes = 4 * kMiB,
       .peak_bytes = 724 * kMiB,
       .calls = 3228,
       .device_bytes = 4 * kMiB},
      {.device = 0, .kind = "cached", .owner = "vramscope", .device_bytes = 1020 * kMiB},
      {.device = 0,
       .kind = "unaccounted",
       .owner = "contexts",
       .current_bytes = 412 * kMiB,
       .peak_bytes = 412 * kMiB,
       .device_bytes = 412 * kMiB},
      {.device = 0,
       .kind = "device",
       .owner = "libkernels.so",
       .peak_bytes = 48 * kMiB,
       .calls = 72},
      {.device = 0,
       .kind = "managed",
       .owner = "libkernels.so",
       .peak_bytes = 96 * kMiB,
       .calls = 1},
      {.device = 0, .kind = "pinned", .owner = "program", .peak_bytes = 64 * kMiB, .calls = 4}};
  return report;
}

NameFrame golden_names() {
  return [](const Report&, const FrameFact& frame) -> std::vector<SourceFrame> {
    const std::uint64_t index = (frame.offset - 0x1000) / 16;
    return index < names().size() ? names()[index] : std::vector<SourceFrame>{};
  };
}

}  // namespace vramscope
