// ask_nvml() returns what NVML says of the GPUs' use, all processes together and each. It is the
// tool's alone: the program never meets NVML through us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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
  std::uint64_t free_bytes = 0;  // as the driver tells programs; what it calls used may be more
  std::vector<GpuProcess> processes;  // those that NVML sees from here
};

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

// Opens `library` for the call; empty where it is not there or has nothing to say.
[[nodiscard]] std::vector<GpuUse> ask_nvml(const std::string& library);
// The same, to be asked again and again: it stays open as long as what is given.
[[nodiscard]] std::function<std::vector<GpuUse>()> open_nvml(const std::string& library);
// Of its command; "": it has ended, or runs where it cannot be seen.
[[nodiscard]] std::string command_of(std::uint32_t pid);

// Takes the bytes of other processes that still run out of the ledger's "others", each as an entry
// with the owner "PID (name)", and what is left of this process's own into "unaccounted". Only
// while the report's process lives on this machine, and only as far as "others" reaches.
void name_others(Report& report, const std::vector<GpuUse>& gpus);

// Another process than the report's that uses one of its devices now.
struct OtherProcess {
  std::uint16_t device = 0;
  std::string name;  // "4711 (python3)"
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::vector<OtherProcess> others_on(const Report& report,
                                                  const std::vector<GpuUse>& gpus);

}  // namespace vramscope
