// ask_nvml() returns what NVML says of the GPUs' use, in total and for each process. Only the tool
// uses it: we never load NVML into the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vramscope {

struct Report;

struct GpuProcess {
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
};
struct GpuUse {
  std::string uuid;
  // As the driver tells programs; its "used" may be more. Nothing where the memory is the host's,
  // of which NVML knows no totals.
  std::optional<std::uint64_t> free_bytes;
  std::vector<GpuProcess> processes;  // those that NVML can see from here
};

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

// Opens `library` for this call. Returns nothing if the library is missing or does not answer.
[[nodiscard]] std::vector<GpuUse> ask_nvml(const std::string& library);
// Returns a function for repeated questions. The library stays open as long as the function exists.
[[nodiscard]] std::function<std::vector<GpuUse>()> open_nvml(const std::string& library);
// Returns the command of the process, or "" if it has ended or is not visible.
[[nodiscard]] std::string command_of(std::uint32_t pid);

// Moves the bytes of other running processes out of the ledger's "others", each to an entry with
// the owner "PID (name)", and this process's own remaining bytes to "unaccounted". Works only while
// the report's process lives on this machine, and only as far as "others" reaches.
void name_others(Report& report, const std::vector<GpuUse>& gpus);

// Another process that uses one of the report's devices now.
struct OtherProcess {
  std::uint16_t device = 0;
  std::string name;  // "4711 (python3)"
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::vector<OtherProcess> others_on(const Report& report,
                                                  const std::vector<GpuUse>& gpus);

}  // namespace vramscope
