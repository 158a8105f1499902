// A small libnvidia-ml.so.1 over what simulated processes with one device tell each other
// (VRAMSCOPE_SIM=shared=...). Without that each has devices of its own: nothing is used.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "interpose/settings/private_variables.h"
#include "test/simulator/device/configuration.h"
#include "test/simulator/device/shared_use.h"

using namespace vramscope::simulator;

namespace {

// As in NVML's header, which is not needed here.
constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kUninitialized = 1;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct FirstProcess {
  unsigned int pid;
  unsigned long long used_bytes;
};
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
};

// Never destroyed: programs shut NVML down from destructors that run while the process ends.
std::unique_ptr<Configuration>& configuration = *new std::unique_ptr<Configuration>;
std::unique_ptr<SharedUse>& use = *new std::unique_ptr<SharedUse>;

std::mutex users_mutex;
int users = 0;  // guarded by it: calls of nvmlInit that no nvmlShutdown has answered

// Handles are ordinals, from 1 on.
using Device = std::uintptr_t;
bool is_device(Device device) {
  return configuration && device >= 1 && device <= static_cast<Device>(configuration->devices);
}
int ordinal(Device device) { return static_cast<int>(device) - 1; }

// `count` is how many there is room for, and then how many there are.
template <class Keep>
int list_processes(Device device, unsigned int& count, const Keep& keep) {
  if (!is_device(device)) return kInvalidArgument;
  const unsigned int room = count;
  unsigned int found = 0;
  if (use) {
    use->each_other(ordinal(device), [&](std::uint32_t pid, std::uint64_t bytes) {
      if (found < room) keep(found, {pid, bytes, ~0U, ~0U});
      ++found;
    });
  }
  count = found;
  return found <= room ? kSuccess : kInsufficientSize;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" {  // declared by the header of programs, not here
int nvmlInit_v2();
int nvmlDeviceGetCount_v2(unsigned int* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device);
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device);
int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info);
int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned int* count, Process* processes);
}

EXPORTED int nvmlInit_v2() {
  const std::lock_guard lock(users_mutex);
  if (users++ > 0) return kSuccess;
  const char* settings = secure_getenv(vramscope::kSimulatorVariable);
  configuration = std::make_unique<Configuration>(
      parse_configuration(settings != nullptr ? settings : "").configuration);
  if (!configuration->shared.empty()) use = std::make_unique<SharedUse>(configuration->shared);
  if (use && !use->ok()) use.reset();
  return kSuccess;
}

EXPORTED int nvmlInit() { return nvmlInit_v2(); }
EXPORTED int nvmlInitWithFlags(unsigned int) { return nvmlInit_v2(); }

EXPORTED const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}

EXPORTED int nvmlShutdown() {
  const std::lock_guard lock(users_mutex);
  if (users == 0) return kUninitialized;
  if (--users > 0) return kSuccess;
  use.reset();
  configuration.reset();
  return kSuccess;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned int* count) {
  if (!configuration) return kUninitialized;
  *count = static_cast<unsigned int>(configuration->devices);
  return kSuccess;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  *device = index + 1;
  return is_device(*device) ? kSuccess : kNotFound;
}

EXPORTED int nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

EXPORTED int nvmlDeviceGetHandleByIndex(unsigned int index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// The buses are the simulated driver's: ordinal + 1. The domain may be left out.
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  if (!configuration) return kUninitialized;
  unsigned int domain = 0, bus = 0, slot = 0;
  if (bus_id == nullptr || device == nullptr) return kInvalidArgument;
  if (std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(bus_id, "%x:%x", &bus, &slot) != 2) return kInvalidArgument;
  }
  if (domain != 0 || slot != 0 || !is_device(bus)) return kNotFound;
  *device = bus;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Device* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

EXPORTED int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  if (!is_device(device) || info == nullptr) return kInvalidArgument;
  *info = {};
  info->bus = static_cast<unsigned int>(ordinal(device)) + 1;
  std::snprintf(info->legacy_bus_id, sizeof info->legacy_bus_id, "0000:%02X:00.0", info->bus);
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
  return kSuccess;
}

EXPORTED int nvmlDeviceGetIndex(Device device, unsigned int* index) {
  if (!is_device(device)) return kInvalidArgument;
  *index = static_cast<unsigned int>(ordinal(device));
  return kSuccess;
}

EXPORTED int nvmlDeviceGetName(Device device, char* text, unsigned int size) {
  if (!is_device(device)) return kInvalidArgument;
  std::snprintf(text, size, "%s", configuration->model.title().c_str());
  return kSuccess;
}

// As the simulated driver's, like the UUID.
EXPORTED int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  if (!is_device(device) || major == nullptr || minor == nullptr) return kInvalidArgument;
  *major = configuration->model.major;
  *minor = configuration->model.minor;
  return kSuccess;
}

// Peers reach each other, whatever way is asked for (0: it works).
EXPORTED int nvmlDeviceGetP2PStatus(Device device, Device peer, int, int* status) {
  if (!is_device(device) || !is_device(peer) || status == nullptr) return kInvalidArgument;
  *status = 0;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetUUID(Device device, char* text, unsigned int size) {
  if (!is_device(device)) return kInvalidArgument;
  std::string all = "GPU-";
  int place = 0;
  for (const unsigned char byte : uuid_of(use.get(), ordinal(device))) {
    if (place == 4 || place == 6 || place == 8 || place == 10) all += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    all += digits;
    ++place;
  }
  std::snprintf(text, size, "%s", all.c_str());
  return kSuccess;
}

EXPORTED int nvmlDeviceGetMemoryInfo(Device device, MemoryInfo* memory) {
  if (!is_device(device)) return kInvalidArgument;
  if (configuration->model.integrated != 0) return kNotSupported;
  const std::uint64_t used = use ? use->used_by_others(ordinal(device)) : 0;
  *memory = {configuration->capacity, configuration->capacity - used, used};
  return kSuccess;
}

// The first form, of which PyTorch asks, has no instances.
EXPORTED int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned int* count,
                                                  FirstProcess* processes) {
  return list_processes(device, *count, [processes](unsigned int i, const Process& process) {
    processes[i] = {process.pid, process.used_bytes};
  });
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned int* count,
                                                     Process* processes) {
  return list_processes(device, *count, [processes](unsigned int i, const Process& process) {
    processes[i] = process;
  });
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned int* count,
                                                     Process* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v2(device, count, processes);
}

#define UNSUPPORTED(symbol) \
  EXPORTED int symbol() { return configuration ? kNotSupported : kUninitialized; }
#include "test/simulator/nvml/unsupported.def"
