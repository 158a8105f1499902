// Names follow from all of the processes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/process_devices.h"

#include <algorithm>
#include <memory>

#include "reporter/report/gpus.h"
#include "reporter/report/memory_name.h"

namespace vramscope {

CellNumbers devices_of(const ReportOfProcess& one) {
  CellNumbers ordinals;
  for (const std::uint16_t device : devices_used(one.process.kinds)) {
    const auto& all = one.process.devices;
    const auto its = std::find_if(all.begin(), all.end(),
                                  [&](const auto& known) { return known.index == device; });
    ordinals.push_back(its == all.end() ? device : ordinal_of(*its));
  }
  std::sort(ordinals.begin(), ordinals.end());
  return ordinals;
}

DevicesText devices_text(const std::vector<ReportOfProcess>& reports) {
  std::vector<MergedProcess> processes;
  for (const ReportOfProcess& one : reports) processes.push_back(one.process);
  const auto gpus = std::make_shared<const Gpus>(processes);
  return [gpus](const ReportOfProcess& one) {
    std::string text;
    for (const std::uint16_t device : devices_used(one.process.kinds)) {
      std::string name = std::to_string(device);
      for (const ProcessDevice& known : one.process.devices) {
        if (known.index == device) name = gpus->of(one.process, known).name.substr(kGpu.size());
      }
      text += (text.empty() ? "" : ", ") + name;
    }
    return text.empty() ? "-" : text;
  };
}

}  // namespace vramscope
