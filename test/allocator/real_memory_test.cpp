// What a real program's requests make each policy reserve is what it reserved on a GPU, and what of
// that is told to be needed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "allocator/caching_allocator.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kDeviceBytes = 143'000 * kMiB;  // nearly empty, as the GPU was
// NVIDIA H200, driver 580.159.04, 2026-11-26, 12 steps; the libraries' 64 MiB are left out here.
constexpr std::uint64_t kLibraries = 64;
constexpr std::uint64_t kOnGpuRequested = 5278 - kLibraries;
constexpr std::uint64_t kOnGpuNativeSafe = 11824 - kLibraries;
constexpr std::uint64_t kOnGpuPyTorch = 7060 - kLibraries;
constexpr std::uint64_t kOnGpuGrowing = 5442 - kLibraries;

// The numbers of the file: requests, and frees below 0.
std::vector<std::string> requests() {
  const char* const folder = std::getenv("VRAMSCOPE_GOLDEN");
  std::ifstream file(std::string(folder == nullptr ? "" : folder) + "/gpt.requests");
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream row(line);
    for (std::string word; row >> word;) words.push_back(word);
  }
  return words;
}

// A report of what the program would have had under the limits.
Report played(const Limits& limits) {
  simulator::SimulatedDevice device({.capacity = kDeviceBytes});
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, limits);
  std::vector<Address> blocks;
  for (const std::string& word : requests()) {
    if (word.starts_with('-')) {
      EXPECT_TRUE(allocator.free(blocks.at(std::stoul(word.substr(1)))).status.ok());
      continue;
    }
    const Outcome out = allocator.allocate({.where = {}, .bytes = std::stoull(word)});
    EXPECT_TRUE(out.status.ok());
    blocks.push_back(out.address);
  }
  Report report;
  report.process.mode = "cache";
  const bool is_native_safe = limits.policy == Policy::native_safe;
  report.process.options = {{"policy", is_native_safe ? "native-safe" : "pytorch"}};
  DeviceReport& told = report.devices.emplace_back();
  told.statistics = allocator.snapshot().devices.at(0).statistics;
  told.used = true;
  return report;
}

std::uint64_t reserved_mib(const Report& report) {
  return reserved_memory(report, report.devices[0]).peak / kMiB;
}

TEST(RealMemory, EachPolicyReservesWhatItDidOnAGpu) {
  constexpr double kPart = 0.03;
  const auto near = [](std::uint64_t found, std::uint64_t on_gpu) {
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(on_gpu),
                kPart * static_cast<double>(on_gpu));
  };
  const Report native_safe = played({.policy = Policy::native_safe});
  const DeviceStatistics& stats = native_safe.devices[0].statistics;

  near(static_cast<std::uint64_t>(stats.requested_bytes.all.peak) / kMiB, kOnGpuRequested);
  near(reserved_mib(native_safe), kOnGpuNativeSafe);
  near(reserved_mib(played({})), kOnGpuPyTorch);
  near(reserved_mib(played({.growing_segments = true})), kOnGpuGrowing);
}

// "reserved 11.5 GiB" is what users took for what their program needs.
TEST(RealMemory, WhatIsNeededOfNativeSafesIsLittleMoreThanWhatWasRequested) {
  const Report report = played({.policy = Policy::native_safe});
  const ReservedMemory memory = reserved_memory(report, report.devices[0]);

  EXPECT_LT(memory.needed_most, (kOnGpuRequested + kOnGpuRequested / 10) * kMiB);
  EXPECT_GE(memory.needed_most, kOnGpuRequested * kMiB * 97 / 100);
  EXPECT_EQ(memory.idle_at_peak(), memory.peak - memory.needed_most);
  EXPECT_GT(memory.idle_at_peak(), 6000 * kMiB);
}

// It would fit into that: on a device of no more nothing is refused.
TEST(RealMemory, WhatIsNeededIsEnough) {
  const Report report = played({.policy = Policy::native_safe});
  const std::uint64_t needed = reserved_memory(report, report.devices[0]).needed_most;
  simulator::SimulatedDevice device({.capacity = needed});
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, {.policy = Policy::native_safe});
  std::vector<Address> blocks;

  for (const std::string& word : requests()) {
    if (word.starts_with('-')) {
      static_cast<void>(allocator.free(blocks.at(std::stoul(word.substr(1)))));
      continue;
    }
    const Outcome out = allocator.allocate({.where = {}, .bytes = std::stoull(word)});
    ASSERT_TRUE(out.status.ok()) << word;
    blocks.push_back(out.address);
  }
}

}  // namespace
}  // namespace vramscope::test
