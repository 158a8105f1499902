// NVML by its stable names, opened at run time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/nvml.h"

#include "reporter/report/ledger_row.h"
#include "reporter/report/report.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

namespace vramscope {
namespace {

// The few types of nvml.h that are used here; NVML keeps them for ever, under these names.
using Device = struct NvmlDevice*;
struct Memory {
  unsigned long long total, free, used;
};
struct Process {  // of nvmlDeviceGetComputeRunningProcesses_v2 and _v3
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long kUnknown = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
constexpr int kNotSupported = 3;                // NVML_ERROR_NOT_SUPPORTED

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

class Nvml {
 public:
  explicit Nvml(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) return;
    find(init_, "nvmlInit_v2");
    find(shutdown_, "nvmlShutdown");
    find(count_, "nvmlDeviceGetCount_v2");
    find(device_, "nvmlDeviceGetHandleByIndex_v2");
    find(uuid_, "nvmlDeviceGetUUID");
    find(memory_, "nvmlDeviceGetMemoryInfo");
    find(processes_, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (processes_ == nullptr) find(processes_, "nvmlDeviceGetComputeRunningProcesses_v2");
    const bool has_all = init_ != nullptr && shutdown_ != nullptr && count_ != nullptr &&
                         device_ != nullptr && uuid_ != nullptr && memory_ != nullptr;
    started_ = has_all && init_() == 0;
  }
  ~Nvml() {
    if (started_) shutdown_();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::vector<GpuUse> ask() const {
    std::vector<GpuUse> result;
    unsigned int count = 0;
    if (!started_ || count_(&count) != 0) return result;
    for (unsigned int i = 0; i < count; ++i) {
      Device device = nullptr;
      Memory memory{};
      std::array<char, 96> uuid{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
      if (device_(i, &device) != 0 || uuid_(device, uuid.data(), uuid.size()) != 0) continue;
      const int answer = memory_(device, &memory);
      if (answer != 0 && answer != kNotSupported) continue;
      result.push_back({uuid.data(), {}, processes_of(device)});
      if (answer == 0) result.back().free_bytes = memory.free;
    }
    return result;
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_.get(), name));
  }
  [[nodiscard]] std::vector<GpuProcess> processes_of(Device device) const {
    std::vector<GpuProcess> result;
    std::vector<Process> list(1024);  // more than any GPU serves
    auto count = static_cast<unsigned int>(list.size());
    if (processes_ == nullptr || processes_(device, &count, list.data()) != 0) return result;
    for (unsigned int i = 0; i < count && i < list.size(); ++i) {
      if (list[i].used_bytes != kUnknown) result.push_back({list[i].pid, list[i].used_bytes});
    }
    return result;
  }

  std::unique_ptr<void, CloseLibrary> library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned int*) = nullptr;
  int (*device_)(unsigned int, Device*) = nullptr;
  int (*uuid_)(Device, char*, unsigned int) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*processes_)(Device, unsigned int*, Process*) = nullptr;
  bool started_ = false;
};

}  // namespace

std::vector<GpuUse> ask_nvml(const std::string& library) { return Nvml(library).ask(); }

std::function<std::vector<GpuUse>()> open_nvml(const std::string& library) {
  return [nvml = std::make_shared<const Nvml>(library)] { return nvml->ask(); };
}

std::string command_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

namespace {

std::string name_of(std::uint32_t pid) {
  return process_name({.pid = pid, .name = command_of(pid)});
}

// The report names the other processes itself: `run` asked NVML when it was made.
bool has_names(const Report& report, std::uint16_t device) {
  return std::any_of(report.ledger.begin(), report.ledger.end(), [&](const LedgerEntry& entry) {
    return entry.device == device && row_of(entry) == LedgerRow::others &&
           entry.owner != words_of(LedgerRow::others).second;
  });
}

// What is on the device of this process by the report.
std::uint64_t own_bytes(const Report& report, std::uint16_t device) {
  std::uint64_t bytes = 0;
  for (const LedgerEntry& entry : report.ledger) {
    if (entry.device == device && row_of(entry) != LedgerRow::others) bytes += entry.device_bytes;
  }
  return bytes;
}

void name_others(Report& report, std::uint16_t device, const GpuUse& gpu) {
  const auto others =
      std::find_if(report.ledger.begin(), report.ledger.end(), [&](const LedgerEntry& entry) {
        return entry.device == device && row_of(entry) == LedgerRow::others;
      });
  if (others == report.ledger.end() || has_names(report, device)) return;
  LedgerEntry rest = *others;
  report.ledger.erase(others);
  const auto move = [&](const char* kind, std::string owner, std::uint64_t bytes) {
    LedgerEntry entry = rest;
    entry.kind = kind;
    entry.owner = std::move(owner);
    entry.device_bytes = entry.current_bytes = entry.peak_bytes =
        std::min(bytes, rest.device_bytes);
    rest.device_bytes -= entry.device_bytes;
    rest.current_bytes = rest.peak_bytes = rest.device_bytes;
    if (entry.device_bytes != 0) report.ledger.push_back(std::move(entry));
  };
  const std::uint64_t own = own_bytes(report, device);
  for (const GpuProcess& process : gpu.processes) {
    if (process.pid == report.process.pid) {
      move(kUnaccounted, "driver", process.bytes - std::min(own, process.bytes));
    } else {
      move(words_of(LedgerRow::others).first, name_of(process.pid), process.bytes);
    }
  }
  if (rest.device_bytes != 0) report.ledger.push_back(std::move(rest));
}

}  // namespace

void name_others(Report& report, const std::vector<GpuUse>& gpus) {
  for (const DeviceReport& device : report.devices) {
    for (const GpuUse& gpu : gpus) {
      if (gpu.uuid == device.facts.uuid) name_others(report, device.facts.index, gpu);
    }
  }
}

std::vector<OtherProcess> others_on(const Report& report, const std::vector<GpuUse>& gpus) {
  std::vector<OtherProcess> others;
  for (const DeviceReport& device : report.devices) {
    for (const GpuUse& gpu : gpus) {
      if (gpu.uuid != device.facts.uuid) continue;
      for (const GpuProcess& process : gpu.processes) {
        if (process.pid == report.process.pid || process.bytes == 0) continue;
        others.push_back({device.facts.index, name_of(process.pid), process.bytes});
      }
    }
  }
  return others;
}

}  // namespace vramscope
