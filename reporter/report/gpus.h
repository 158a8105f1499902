// Gpus decides which devices of several processes are one GPU, numbers these, and names them.
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

// What tells a device of the process from others', of this process and of all: its UUID; of a
// simulated one, which has that of others' on every host, with the host; where no UUID is known,
// the host with its bus or, if that is not known either, the process's own ordinal.
using DeviceIdentity = std::tuple<std::string, std::string, std::uint16_t>;
[[nodiscard]] DeviceIdentity identity_of(const MergedProcess& process, const ProcessDevice& device);

// The process's own number of it, by which its trace has it.
[[nodiscard]] std::uint16_t ordinal_of(const ProcessDevice& device);

struct Gpu {
  std::set<std::string> hosts;  // several: containers on one machine
  std::string uuid;
  std::string pci_bus_id;
  // The highest that a process had: those that see less of the host's devices count from 0 as well.
  std::uint16_t ordinal = 0;
  std::size_t place = 0;  // in the order of hosts, ordinals and buses
  // In a report that is merged of these processes. Numbers are the ordinals where no two GPUs have
  // one, else the places.
  std::uint16_t number = 0;
  // "GPU 0"; of several that have one ordinal on one host, by their bus: "GPU 0 at 1b:00.0".
  std::string name = {};
  std::string label = {};  // the same; where there are several hosts, "GPU 0 of node1"
  [[nodiscard]] std::string host() const { return hosts.size() == 1 ? *hosts.begin() : ""; }
};

// Threads: one. All may throw bad_alloc.
class Gpus {
 public:
  explicit Gpus(const std::vector<MergedProcess>& processes);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  // A device that has no UUID is the one of its host that has one and the same bus, or the same
  // ordinal where no bus is known; if there is exactly one.
  [[nodiscard]] const Gpu& of(const MergedProcess& process, const ProcessDevice& device) const;

 private:
  void unite();
  void number();
  void name();

  std::map<DeviceIdentity, Gpu> gpus_;
  std::map<DeviceIdentity, DeviceIdentity> same_;  // of those without a UUID: which they are
  std::vector<Gpu*> order_;
};

// Sets DeviceReport::label of a report that was merged. More than one GPU may be in one entry
// (FORMAT.md): "GPU 0 (sum of 128)".
void label_gpus(Report& report);

// "0 is GPU 0 of node1, 1 is GPU 0 of node2"; "": they are called by their numbers.
[[nodiscard]] std::string numbers_of_gpus(const Report& report);

}  // namespace vramscope
