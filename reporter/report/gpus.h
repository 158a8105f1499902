// Gpus decides which devices of several processes are the same GPU, numbers the GPUs and names
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace vramscope {

struct MergedProcess;
struct ProcessDevice;
struct Report;

// The identity of a process's device among all processes: its UUID. A simulated device, whose UUID
// is equal on every host, is identified by UUID and host. Without a UUID, the host with the bus
// identifies it, or the host with the process's own ordinal if the bus is not known either.
using DeviceIdentity = std::tuple<std::string, std::string, std::uint16_t>;
[[nodiscard]] DeviceIdentity identity_of(const MergedProcess& process, const ProcessDevice& device);

// Returns the process's own number of the device, which its trace uses.
[[nodiscard]] std::uint16_t ordinal_of(const ProcessDevice& device);

struct Gpu {
  std::set<std::string> hosts;  // several for containers on one machine
  std::string uuid;
  std::string pci_bus_id;
  // The highest ordinal that a process had for it: processes that see only some of the host's
  // devices also count from 0.
  std::uint16_t ordinal = 0;
  std::size_t place = 0;  // position in the order of hosts, ordinals and buses
  // The number in a report that is merged from these processes: the ordinal if all GPUs have
  // different ones, else the place.
  std::uint16_t number = 0;
  // "GPU 0"; if several GPUs of a host have one ordinal, with the bus: "GPU 0 at 1b:00.0".
  std::string name = {};
  std::string label = {};  // the name; with several hosts "GPU 0 of node1"
  [[nodiscard]] std::string host() const { return hosts.size() == 1 ? *hosts.begin() : ""; }
};

// Threads: one. All functions may throw bad_alloc.
class Gpus {
 public:
  explicit Gpus(const std::vector<MergedProcess>& processes);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  // Returns the GPU of a device. A device without a UUID is the GPU of its host with the same bus,
  // or with the same ordinal if no bus is known, provided that exactly one GPU matches.
  [[nodiscard]] const Gpu& of(const MergedProcess& process, const ProcessDevice& device) const;

 private:
  void unite();
  void number();
  void name();

  std::map<DeviceIdentity, Gpu> gpus_;
  std::map<DeviceIdentity, DeviceIdentity> same_;  // for devices without a UUID: the device that
                                                   // they are
  std::vector<Gpu*> order_;
};

// Sets DeviceReport::label in a merged report. One entry may stand for several GPUs (FORMAT.md):
// "GPU 0 (sum of 128)".
void label_gpus(Report& report);

// Returns "0 is GPU 0 of node1, 1 is GPU 0 of node2", or "" if the GPUs are called by their
// numbers.
[[nodiscard]] std::string numbers_of_gpus(const Report& report);

}  // namespace vramscope
