// As merging tells them apart.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/other_gpus.h"

#include <map>
#include <set>

#include "reporter/report/gpus.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"

namespace vramscope {
namespace {

struct SeenGpus {
  std::set<const Gpu*> gpus;
  std::set<std::string> uuids, hosts;
};

bool holds_any(const MergedProcess& process, std::uint16_t device) {
  for (const KindFacts& kind : process.kinds) {
    if (has_device(kind.kind) && kind.device == device && kind.peak_bytes != 0) return true;
  }
  return false;
}

std::map<std::uint16_t, SeenGpus> gpus_of(const std::vector<MergedProcess>& processes,
                                          const Gpus& all) {
  std::map<std::uint16_t, SeenGpus> gpus;
  for (const MergedProcess& process : processes) {
    for (const ProcessDevice& device : process.devices) {
      if (!holds_any(process, device.index)) continue;
      SeenGpus& one = gpus[device.index];
      one.gpus.insert(&all.of(process, device));
      one.hosts.insert(process.process.hostname);
      if (!device.uuid.empty()) one.uuids.insert(device.uuid);
    }
  }
  return gpus;
}

// Simulated ones have one UUID on every host, and it does not matter where they were.
bool is_same(const SeenGpus& a, const SeenGpus& b) {
  const bool has_same_uuids = !a.uuids.empty() && a.uuids == b.uuids;
  return a.gpus.size() == b.gpus.size() && (has_same_uuids || a.gpus == b.gpus);
}

GpusOfNumber told(const SeenGpus& one) {
  return {.uuids = {one.uuids.begin(), one.uuids.end()},
          .hosts = {one.hosts.begin(), one.hosts.end()},
          .count = one.gpus.size()};
}

}  // namespace

std::vector<OtherGpu> other_gpus(const Report& before, const Report& after) {
  const std::vector<MergedProcess> first = merged_processes(before);
  const std::vector<MergedProcess> second = merged_processes(after);
  std::vector<MergedProcess> both = first;
  both.insert(both.end(), second.begin(), second.end());
  const Gpus all(both);
  const std::map<std::uint16_t, SeenGpus> was = gpus_of(first, all);
  std::vector<OtherGpu> others;
  for (const auto& [device, is] : gpus_of(second, all)) {
    const auto found = was.find(device);
    if (found == was.end() || is_same(found->second, is)) continue;
    others.push_back({.device = device,
                      .gpu = gpu_name(after, device),
                      .before = told(found->second),
                      .after = told(is)});
  }
  return others;
}

}  // namespace vramscope
