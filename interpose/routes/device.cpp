// Serves linear device memory, and answers how much memory of a device is free.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "allocator/base/fault.h"
#include "interpose/routes/capacity_checks.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {

CUresult cuMemAlloc_v2(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                       std::size_t bytesize) noexcept {
  Profiler& profiler = call.profiler();
  if (!profiler.routes_device_memory()) {
    const CUresult code = bounded(call, direct, bytesize);
    Place place;
    if (code == CUDA_ERROR_OUT_OF_MEMORY && call.find_place(place)) {
      profiler.allocator().end_promise({.device = place.device, .bytes = 0, .kind = Kind::device},
                                       CachingAllocator::Why::refused);
    }
    return code;
  }
  if (dptr == nullptr || bytesize == 0) return direct();
  Place place;
  if (!call.find_place(place)) return direct();  // the driver reports that there is no context
  // The driver decides what a capture allows.
  if (profiler.captures().any()) {
    return call.plan(bytesize), ask_twice(call, direct, place.device);
  }
  const Outcome outcome = profiler.allocator().allocate(call.request(place, bytesize));
  if (served_nothing(outcome.status)) return call.plan(bytesize), direct();
  call.note(outcome);
  if (outcome.by_limit && !outcome.status.ok()) warn_of_capacity(profiler, place.device);
  if (outcome.status.ok()) *dptr = outcome.address;
  return to_code(outcome.status);
}

// Idle segments count as free, because the program could get them at once. So does memory that it
// freed during a capture or graph that has ended. The call does not wait, as the driver's does not.
CUresult cuMemGetInfo_v2(Call& call, const DirectCall& direct, std::size_t* free,
                         std::size_t* total) noexcept {
  Place place;
  const bool has_place = call.find_place(place);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || !has_place) return code;
  if (free != nullptr && total != nullptr) {
    call.profiler().backend().note_free_memory(place.device, *free, *total);
  }
  if (free != nullptr && !fault(Fault::free_memory_uncorrected)) {
    *free += call.profiler().allocator().recoverable_bytes(place.device);
  }
  cut_to_capacity(call.profiler().allocator(), place.device, free, total);
  return code;
}

// The 32-bit version of old CUDA: saturates.
CUresult cuMemGetInfo(Call& call, const DirectCall& direct, unsigned int* free,
                      unsigned int* total) noexcept {
  Place place;
  const bool has_place = call.find_place(place);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || !has_place) return code;
  std::size_t free_bytes = free != nullptr ? *free : 0;
  std::size_t total_bytes = total != nullptr ? *total : 0;
  free_bytes += call.profiler().allocator().recoverable_bytes(place.device);
  cut_to_capacity(call.profiler().allocator(), place.device, &free_bytes, &total_bytes);
  constexpr std::size_t kMost = ~0U;
  if (free != nullptr) *free = static_cast<unsigned int>(std::min(kMost, free_bytes));
  if (total != nullptr) *total = static_cast<unsigned int>(std::min(kMost, total_bytes));
  return code;
}

}  // namespace vramscope::routes
