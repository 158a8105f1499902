// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes/exports.h"

#include <cstdio>

#include "allocator/base/fault.h"
#include "interpose/base/message.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"

namespace vramscope::routes {

bool may_export(Call& call, const Found& found, const char* function) noexcept {
  Profiler& profiler = call.profiler();
  if (profiler.allocator().note_export(found.block.address).exported) return true;
  if (fault(Fault::part_exported)) return true;
  char line[192];
  std::snprintf(line, sizeof line, "%s: %s%s", function, kCannotExport,
                profiler.way_to_export(found.block.size));
  say_once(Once::export_of_part, line);
  profiler.recorder().warn(line);
  return false;
}

CUresult exported(Call& call, CUresult code) noexcept {
  Profiler& profiler = call.profiler();
  if (code == CUDA_SUCCESS) profiler.exporters().note_export(profiler.recorder());
  return code;
}

namespace {

// Notes an export of memory from the driver, which is freed by its start.
CUresult note_exported(Call& call, CUresult code, CUdeviceptr address) {
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  if (code != CUDA_SUCCESS ||
      real().cuMemGetAddressRange_v2(&start, &bytes, address) != CUDA_SUCCESS) {
    return code;
  }
  const Found found = call.find(Kind::device, start);
  if (found.direct) call.profiler().exported_memory().add(start, {found.where.device, bytes});
  return code;
}

// `unknown` makes the same call about an address that the driver does not know.
template <class Unknown>
CUresult export_block(Call& call, const DirectCall& direct, CUdeviceptr address,
                      const char* function, Unknown unknown) {
  const Found found = find_block(call, address);
  if (!found.owned) return note_exported(call, direct(), address);
  if (outside_live_block(found, address)) return unknown();
  // The driver does not know the address; any other answer concerns the caller or the device.
  const CUresult state = found.dedicated ? CUDA_ERROR_INVALID_VALUE : unknown();
  if (state != CUDA_ERROR_INVALID_VALUE) return state;
  if (!may_export(call, found, function)) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult code = exported(call, direct());
  if (code == CUDA_SUCCESS) {
    call.profiler().exported_memory().add(found.segment, {found.where.device, found.segment_bytes});
  }
  return code;
}

}  // namespace

// A handle opens at the start of the driver's allocation, even if the pointer lies inside.
CUresult cuIpcGetMemHandle(Call& call, const DirectCall& direct, CUipcMemHandle* pHandle,
                           CUdeviceptr dptr) noexcept {
  return export_block(call, direct, dptr, "cuIpcGetMemHandle",
                      [&] { return real().cuIpcGetMemHandle(pHandle, unknown_address()); });
}

CUresult cuMemGetHandleForAddressRange(Call& call, const DirectCall& direct, void* handle,
                                       CUdeviceptr dptr, std::size_t size,
                                       CUmemRangeHandleType handleType,
                                       unsigned long long flags) noexcept {
  return export_block(call, direct, dptr, "cuMemGetHandleForAddressRange", [&] {
    return real().cuMemGetHandleForAddressRange(handle, unknown_address(), size, handleType, flags);
  });
}

// SYNC_MEMOPS acts on the driver's whole allocation, and is set before hardware accesses it.
// Clearing it does not concern a shared segment, for which it was never set.
CUresult cuPointerSetAttribute(Call& call, const DirectCall& direct, const void* value,
                               CUpointer_attribute attribute, CUdeviceptr ptr) noexcept {
  const bool switches_on = attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && value != nullptr &&
                           *static_cast<const int*>(value) != 0;
  if (switches_on) {
    return export_block(call, direct, ptr, "cuPointerSetAttribute", [&] {
      return real().cuPointerSetAttribute(value, attribute, unknown_address());
    });
  }
  const Found found = find_block(call, ptr);
  if (!found.owned || !outside_live_block(found, ptr)) return direct();
  return real().cuPointerSetAttribute(value, attribute, unknown_address());
}

}  // namespace vramscope::routes
