// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/idle_text.h"

#include "reporter/report/report.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

std::string idle_at_peak_text(const ReservedMemory& memory) {
  const std::uint64_t idle = memory.idle_at_peak();
  return idle == 0 ? "" : ", at least " + amount_text(idle) + " of it idle";
}

std::string idle_now_text(const ReservedMemory& memory) {
  const std::uint64_t idle = memory.idle_now.value_or(0);
  return idle == 0 ? "" : ", " + amount_text(idle) + " of it idle";
}

std::string allocated_words(const DeviceReport& device) {
  const std::optional<std::uint64_t> peak = allocated_peak(device);
  return peak ? amount_text(*peak) + " allocated, " : "";
}

std::string reserved_words(const ReservedMemory& memory) {
  const std::string idle = idle_at_peak_text(memory);
  return amount_text(memory.peak) + " reserved" + idle +
         (idle.empty() ? "" : " and released when needed");
}

std::string goes_back_when(const Report& report) {
  return std::string("is released before a request is refused") +
         (yields_to_others(report) ? ", and when other processes take memory" : "");
}

std::string idle_text(const Report& report, std::uint64_t idle) {
  return amount_text(idle) + " was idle: free memory that " + goes_back_when(report);
}

std::string needed_text(const Report& report, const ReservedMemory& memory) {
  const std::uint64_t idle = memory.idle_at_peak();
  if (idle != 0) {
    return "needed: at most " + amount_text(memory.needed_most) + " of the " +
           amount_text(memory.peak) + " reserved; the remaining " + idle_text(report, idle);
  }
  if (memory.needed_least == memory.needed_most || !cuts_large_segments(report)) return "";
  return "needed: " + amount_text(memory.needed_least) + " to " + amount_text(memory.needed_most) +
         ", because it is not known how much reserved memory was idle at the peak; idle memory " +
         goes_back_when(report);
}

}  // namespace vramscope
