// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/device_facts.h"

#include <array>
#include <cstdio>
#include <string>

#include "interpose/loader/real.h"

namespace vramscope {
namespace {

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits.data();
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

}  // namespace

std::string uuid_of(int device) {
  CUuuid uuid{};
  return real().cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS ? uuid_text(uuid) : std::string();
}

DeviceFacts ask_device(std::uint16_t device) {
  const Real& driver = real();
  DeviceFacts facts;
  facts.index = device;
  std::array<char, 256> name{};
  if (driver.cuDeviceGetName(name.data(), name.size(), device) == CUDA_SUCCESS) {
    facts.name = name.data();
  }
  facts.uuid = uuid_of(device);
  std::array<char, 32> bus{};
  if (driver.cuDeviceGetPCIBusId(bus.data(), bus.size(), device) == CUDA_SUCCESS) {
    facts.pci_bus_id = bus.data();
  }
  int major = 0;
  int minor = 0;
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  facts.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  int integrated = 0;
  driver.cuDeviceGetAttribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, device);
  facts.unified = integrated != 0;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  driver.cuMemGetInfo_v2(&free_bytes, &total_bytes);
  facts.free_bytes = free_bytes;
  facts.total_bytes = total_bytes;
  return facts;
}

bool is_simulated_device() noexcept { return real().vramscope_simulated_launches != nullptr; }

bool is_simulated_for_one_process() noexcept {
  const auto is_shared = real().vramscope_simulated_shared;
  return is_simulated_device() && (is_shared == nullptr || !is_shared());
}

std::uint64_t simulated_launches() noexcept {
  return is_simulated_device() ? real().vramscope_simulated_launches() : 0;
}

}  // namespace vramscope
