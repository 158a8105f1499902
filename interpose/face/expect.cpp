// Implements vramscope_expect_begin and vramscope_expect_end.
// SPDX-License-Identifier: Apache-2.0
#define VRAMSCOPE_IMPLEMENTATION
#include "interpose/face/vramscope.h"

#include <string>

#include "interpose/driver/profiler.h"
#include "interpose/face/failure_text.h"
#include "interpose/face/result.h"
#include "interpose/life/expectations.h"
#include "interpose/life/start.h"

namespace vramscope {
namespace {

// Before the program has initialised CUDA, no driver knows which devices there are.
std::optional<std::uint16_t> find_early(int device) {
  if (device == VRAMSCOPE_CURRENT_DEVICE) device = 0;
  const bool is_possible = device >= 0 && static_cast<std::size_t>(device) < kMaxDevices;
  return is_possible ? std::optional(static_cast<std::uint16_t>(device)) : std::nullopt;
}

bool is_ready() noexcept { return Profiler::active() != nullptr || may_start(); }

// Whether the device of an expectation that began early does not exist. A device with memory does:
// the driver is not asked, which may have ended.
bool is_absent(const DeviceWatch& used) {
  return used.device != 0 && used.peak_bytes == 0 && !find_device(used.device);
}

vramscope_usage usage_of(const DeviceWatch& used) {
  return {.new_bytes = static_cast<std::int64_t>(used.new_peak_bytes),
          .peak_bytes = static_cast<std::int64_t>(used.peak_bytes),
          .leaked_bytes = static_cast<std::int64_t>(used.new_bytes)};
}

}  // namespace
}  // namespace vramscope

using namespace vramscope;

extern "C" {

int vramscope_v1_expect_begin(int device, int64_t max_new_bytes, int64_t max_peak, int64_t leaks,
                              uint64_t* expectation) {
  if (!is_ready()) return VRAMSCOPE_NOT_ACTIVE;
  return with_codes([&]() -> int {
    const bool is_early = Profiler::active() == nullptr;
    const std::optional<std::uint16_t> index = is_early ? find_early(device) : find_device(device);
    if (!index) return VRAMSCOPE_BAD_DEVICE;
    const CallGuard guard;
    const ExpectedUse expected{
        .new_bytes = max_new_bytes, .peak_bytes = max_peak, .leaked_bytes = leaks};
    const std::uint64_t number = expectations().begin(*index, expected);
    if (number == 0) return VRAMSCOPE_BAD_EXPECTATION;
    *expectation = number;
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_expect_end(uint64_t expectation, vramscope_usage* usage, vramscope_each_line each,
                            void* context) {
  if (expectation == 0) return VRAMSCOPE_NOT_ACTIVE;  // so said expect_begin
  return with_codes([&]() -> int {
    std::optional<Expectations::Ended> ended;
    {
      const CallGuard guard;
      ended = expectations().end(expectation);
    }
    if (!is_ready()) return VRAMSCOPE_NOT_ACTIVE;
    if (!ended) return VRAMSCOPE_BAD_EXPECTATION;
    Profiler* const profiler = Profiler::active();
    if (profiler != nullptr && is_absent(ended->used)) return VRAMSCOPE_BAD_DEVICE;
    if (usage != nullptr) *usage = usage_of(ended->used);
    if (ended->expected.covers(ended->used)) return VRAMSCOPE_OK;
    if (each == nullptr || profiler == nullptr) return VRAMSCOPE_EXCEEDED;
    for (const std::string& line : failure_text(*profiler, *ended)) each(line.c_str(), context);
    return VRAMSCOPE_EXCEEDED;
  });
}

}  // extern "C"
