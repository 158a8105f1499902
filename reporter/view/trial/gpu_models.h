// Model is a GPU that the simulated device can imitate (`device=` of VRAMSCOPE_SIM), with its
// public figures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vramscope::simulator {

// These defaults are plausible figures of a large card. They apply without a model, and where a row
// of the table gives no figure.
struct Model {
  std::string_view key;                            // as typed; "": no model
  std::string_view name = "device";                // as the driver of a real one reports it
  std::uint64_t memory = std::uint64_t{16} << 30;  // the total that the driver reports, in bytes
  int major = 9;  // compute capability 9.0: what current toolkits compile for
  int minor = 0;
  int multiprocessors = 16;
  int block_shared = 232448;           // bytes of shared memory: the most for a block (opt-in),
  int multiprocessor_shared = 233472;  // and for a multiprocessor
  int multiprocessor_threads = 2048;
  int multiprocessor_blocks = 32;
  int l2_bytes = 50 << 20;
  int clock_khz = 1'500'000;
  int memory_clock_khz = 2'000'000;
  int bus_bits = 384;
  int copy_engines = 3;
  int integrated = 0;  // 1: its memory is the host's: NVML reports none, and pinned and managed
                       // memory takes of it
  // 1: the GPU walks the host's page tables (ATS), so that kernels may use memory of malloc().
  int host_page_tables = 0;
  int managed_from_host = 0;  // 1: the host reads managed memory on the device where it is
  int direct_access = 1;      // 0: other devices cannot reach its memory (RDMA, DMA-BUF)

  // Returns "Vramscope simulated NVIDIA L4", so that nobody mistakes its report for that of a real
  // device.
  [[nodiscard]] std::string title() const { return "Vramscope simulated " + std::string(name); }
};

[[nodiscard]] std::span<const Model> models();
// Returns null if no model has the key.
[[nodiscard]] const Model* find_model(std::string_view key);

}  // namespace vramscope::simulator
