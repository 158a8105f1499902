// Asks NVML, through `vramscope run`, what the driver takes for this process.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <string>

#include "interpose/driver/device_facts.h"
#include "interpose/driver/unrecorded_use.h"
#include "interpose/loader/real.h"
#include "interpose/settings/private_variables.h"
#include "interpose/settings/startup.h"
#include "interpose/settings/use_question.h"

namespace vramscope {
namespace {

std::uint32_t own_pid() { return static_cast<std::uint32_t>(getpid()); }

}  // namespace

// If `run` reported the free memory, it can also be asked.
void UnrecordedUse::measure_first_context(std::uint16_t device) noexcept {
  if (is_simulated_for_one_process()) return;
  try {
    {
      const std::string uuid = uuid_of(device);
      const SystemLock lock(mutex_);
      told_[device].uuid = uuid;
    }
    const std::optional<Answer> answer = answer_of_nvml(device);
    if (!answer) return;
    {
      const SystemLock lock(mutex_);
      take_answer(device, *answer);
      Told& told = told_[device];
      const std::uint64_t contexts = contexts_on(device);
      if (told.context_bytes == 0 && contexts != 0) {
        told.context_bytes = told.driver_bytes / contexts;
      }
    }
    publish(device);
  } catch (...) {  // no memory for an answer: the difference counts
  }
}

// The record and NVML's answer match only if no memory changed in between.
std::optional<UnrecordedUse::Answer> UnrecordedUse::answer_of_nvml(std::uint16_t device) {
  constexpr int kMostAnswers = 3;
  std::string uuid;
  {
    const SystemLock lock(mutex_);
    uuid = told_[device].uuid;
  }
  if (uuid.empty()) return std::nullopt;
  std::optional<Answer> answer;
  for (int i = 0; i < kMostAnswers && !(answer && answer->held); ++i) {
    const DeviceCapacity before = allocator_.capacity(device);
    auto processes = ask_use(startup().note_file.c_str(), uuid);
    if (!processes) break;
    const DeviceCapacity after = allocator_.capacity(device);
    answer = Answer{.processes = *std::move(processes), .held = {}, .managed = after.managed};
    const bool is_same = before.held == after.held && before.rounding == after.rounding;
    if (is_same) answer->held = after.held + after.rounding;
  }
  return answer;
}

// NVML counts the pages of managed memory on the device, whose number is not available elsewhere.
// So with managed memory the driver's use is only known within bounds, and the differences choose
// between them. The pools report what they keep.
void UnrecordedUse::take_answer(std::uint16_t device, const Answer& answer) {
  Told& told = told_[device];
  const auto own =
      std::find_if(answer.processes.begin(), answer.processes.end(),
                   [](const DeviceProcess& process) { return process.pid == own_pid(); });
  if (own == answer.processes.end()) {  // not seen, or NVML uses other process numbers
    if (contexts_on(device) == 0) told.driver_bytes = 0;
    return;
  }
  if (!answer.held) return;
  const std::uint64_t recorded = *answer.held + kept_[device].bytes;
  const std::uint64_t least = own->bytes - std::min(recorded, own->bytes);
  const std::uint64_t most = own->bytes - std::min(recorded - answer.managed, own->bytes);
  std::int64_t modules = 0;
  for (const Part& part : parts_) modules += part.device == device ? part.module_bytes : 0;
  const std::uint64_t measured = told.context_bytes * contexts_on(device) + positive(modules);
  told.driver_bytes = std::clamp(measured, least, most);
}

std::vector<DeviceProcess> UnrecordedUse::ask_nvml(std::uint16_t device) {
  std::optional<Answer> answer = answer_of_nvml(device);
  if (!answer) return {};
  const SystemLock lock(mutex_);
  take_answer(device, *answer);
  std::vector<DeviceProcess>& all = answer->processes;
  const std::size_t before = all.size();
  std::erase_if(all, [](const DeviceProcess& process) { return process.pid == own_pid(); });
  // An NVML that does not see this process uses process numbers of another namespace.
  if (all.size() == before && contexts_on(device) != 0) return {};
  return std::move(all);
}

}  // namespace vramscope
