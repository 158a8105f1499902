// The table of models. Sources of all rows:
// - capability: NVIDIA's list of GPUs by compute capability (developer.nvidia.com/cuda-gpus);
// - shared memory, threads and blocks of a multiprocessor, by compute capability: CUDA programming
//   guide, "Compute Capabilities", table of technical specifications;
// - name, memory, L2, clocks, bus and copy engines: what the row names. "deviceQuery" is a public
//   listing of that program of NVIDIA's cuda-samples on such a device. The memory that a driver
//   tells differs by some MiB from version to version; the row says of which version it is.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/gpu_models.h"

#include <algorithm>
#include <iterator>

namespace vramscope::simulator {

namespace {

constexpr int kKiB = 1 << 10;
constexpr int kMiB = 1 << 20;
constexpr int kMHz = 1000;

constexpr Model kModels[] = {
    // Measured under Vramscope: name, memory, capability, multiprocessors (driver 580.159.04, whose
    // nvidia-smi says 143,771 MiB). L2, clocks, bus and copy engines were not asked: as usual.
    {.key = "h200", .name = "NVIDIA H200", .memory = 150'109'880'320, .multiprocessors = 132},
    // deviceQuery, H100 SXM, driver for CUDA 13.0.
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .memory = 85'017'755'648,
     .multiprocessors = 132,
     .l2_bytes = 50 * kMiB,
     .clock_khz = 1980 * kMHz,
     .memory_clock_khz = 2619 * kMHz,
     .bus_bits = 5120},
    // deviceQuery, A100 SXM 80 GB, driver for CUDA 12.5.
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .memory = 85'100'068'864,
     .major = 8,
     .multiprocessors = 108,
     .block_shared = 163 * kKiB,
     .multiprocessor_shared = 164 * kKiB,
     .l2_bytes = 40 * kMiB,
     .clock_khz = 1410 * kMHz,
     .memory_clock_khz = 1593 * kMHz,
     .bus_bits = 5120},
    // deviceQuery, driver 525.105.17.
    {.key = "l4",
     .name = "NVIDIA L4",
     .memory = 23'612'293'120,
     .major = 8,
     .minor = 9,
     .multiprocessors = 58,
     .block_shared = 99 * kKiB,
     .multiprocessor_shared = 100 * kKiB,
     .multiprocessor_threads = 1536,
     .multiprocessor_blocks = 24,
     .l2_bytes = 48 * kMiB,
     .clock_khz = 2040 * kMHz,
     .memory_clock_khz = 6251 * kMHz,
     .bus_bits = 192,
     .copy_engines = 2},
    // Memory: what PyTorch tells on Linux, in public listings; deviceQuery's listing has less. The
    // rest: deviceQuery, driver for CUDA 13.0.
    {.key = "rtx4090",
     .name = "NVIDIA GeForce RTX 4090",
     .memory = 25'393'692'672,
     .major = 8,
     .minor = 9,
     .multiprocessors = 128,
     .block_shared = 99 * kKiB,
     .multiprocessor_shared = 100 * kKiB,
     .multiprocessor_threads = 1536,
     .multiprocessor_blocks = 24,
     .l2_bytes = 72 * kMiB,
     .clock_khz = 2520 * kMHz,
     .memory_clock_khz = 10501 * kMHz,
     .copy_engines = 2},
    // deviceQuery, driver for CUDA 11.2.
    {.key = "t4",
     .name = "Tesla T4",
     .memory = 15'843'721'216,
     .major = 7,
     .minor = 5,
     .multiprocessors = 40,
     .block_shared = 64 * kKiB,
     .multiprocessor_shared = 64 * kKiB,
     .multiprocessor_threads = 1024,
     .multiprocessor_blocks = 16,
     .l2_bytes = 4 * kMiB,
     .clock_khz = 1590 * kMHz,
     .memory_clock_khz = 5001 * kMHz,
     .bus_bits = 256},
    // deviceQuery, developer kit of the Jetson AGX Orin with 32 GB, driver for CUDA 11.4. The bus:
    // NVIDIA's data sheet of the Jetson AGX Orin series (deviceQuery says 128).
    {.key = "orin",
     .name = "Orin",
     .memory = 32'110'190'592,
     .major = 8,
     .minor = 7,
     .multiprocessors = 16,
     .block_shared = 163 * kKiB,
     .multiprocessor_shared = 164 * kKiB,
     .multiprocessor_threads = 1536,
     .multiprocessor_blocks = 16,
     .l2_bytes = 4 * kMiB,
     .clock_khz = 1300 * kMHz,
     .memory_clock_khz = 1300 * kMHz,
     .bus_bits = 256,
     .copy_engines = 2,
     .integrated = 1},
    // The DGX Spark. Memory: MemTotal of its host, which total_memory and cuMemGetInfo repeat to
    // the byte (unslothai/unsloth#10486). deviceQuery, driver for CUDA 13.0, has the rest. NVML
    // does not know its memory (DGX Spark's known issues). Page tables: "Addressing Mode: ATS", in
    // the first source. Direct access: NVIDIA's developer forum, "DGX Spark GPUDirect RDMA".
    {.key = "gb10",
     .name = "NVIDIA GB10",
     .memory = 130'663'006'208,
     .major = 12,
     .minor = 1,
     .multiprocessors = 48,
     .block_shared = 99 * kKiB,
     .multiprocessor_shared = 100 * kKiB,
     .multiprocessor_threads = 1536,
     .multiprocessor_blocks = 24,
     .l2_bytes = 24 * kMiB,
     .clock_khz = 2418 * kMHz,
     .memory_clock_khz = 8533 * kMHz,
     .bus_bits = 256,
     .copy_engines = 1,
     .integrated = 1,
     .host_page_tables = 1,
     .direct_access = 0},
    // deviceQuery, driver for CUDA 12.2: Grace Hopper with 480 GB beside the CPU and 96 GB of HBM3,
    // which is the GPU's own memory ("Integrated GPU sharing Host Memory: No"). Page tables and the
    // host's access: CUDA programming guide, "Unified Memory", systems that are coherent in
    // hardware.
    {.key = "gh200",
     .name = "NVIDIA GH200 480GB",
     .memory = 102'005'473'280,
     .multiprocessors = 132,
     .l2_bytes = 60 * kMiB,
     .clock_khz = 1980 * kMHz,
     .memory_clock_khz = 2619 * kMHz,
     .bus_bits = 6144,
     .host_page_tables = 1,
     .managed_from_host = 1},
};

}  // namespace

std::span<const Model> models() { return kModels; }

const Model* find_model(std::string_view key) {
  const auto* const found = std::ranges::find(kModels, key, &Model::key);
  return found == std::end(kModels) ? nullptr : found;
}

}  // namespace vramscope::simulator
