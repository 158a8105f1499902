// Records memory of other processes and of graphics, which is borrowed.
// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "allocator/base/call_time.h"
#include "interpose/driver/range_bytes.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// An open handle gives the same address again, and its opens are counted.
CUresult open_ipc(Call& call, const DirectCall& direct, CUdeviceptr* pdptr,
                  const CUipcMemHandle& handle) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  ImportCounts& open = call.profiler().import_counts();
  if (open.add(*pdptr, std::bit_cast<ImportCounts::Handle>(handle)) > 1) {
    if (call.find(Kind::imported, *pdptr).direct) return code;
    open.begin_again(*pdptr);
  }
  call.adopt(call.place_of(Kind::imported), *pdptr, range_bytes(*pdptr));
  return code;
}

// Ends the memory of resources by handle. The driver does not reuse the handle meanwhile: a thread
// that maps the resource again has waited for the end of this call.
CUresult unmap_resources(Call& call, const DirectCall& direct, unsigned int count,
                         CUgraphicsResource* resources) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  for (unsigned int i = 0; i < count; ++i) {
    call.forget(call.find(Kind::graphics, to_address(resources[i])));
  }
  return code;
}

}  // namespace

CUresult cuIpcOpenMemHandle(Call& call, const DirectCall& direct, CUdeviceptr* pdptr,
                            CUipcMemHandle handle, unsigned int) noexcept {
  return open_ipc(call, direct, pdptr, handle);
}
CUresult cuIpcOpenMemHandle_v2(Call& call, const DirectCall& direct, CUdeviceptr* pdptr,
                               CUipcMemHandle handle, unsigned int) noexcept {
  return open_ipc(call, direct, pdptr, handle);
}
CUresult cuIpcCloseMemHandle(Call& call, const DirectCall& direct, CUdeviceptr dptr) noexcept {
  Profiler& profiler = call.profiler();
  ImportCounts& open = profiler.import_counts();
  const Found leaving = call.find(Kind::imported, dptr);
  const Releases::Underway release(profiler.releases(), {.kind = Kind::imported,
                                                         .address = dptr,
                                                         .newest = profiler.allocator().newest(),
                                                         .start_ns = call_time_ns});
  const ImportCounts::Number number = open.begin_close(dptr);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) {
    open.refused(dptr, number);
  } else if (open.remove(dptr, number) == 0) {
    call.forget(leaving, &release);
  }
  return code;
}

CUresult cuGraphicsUnmapResources(Call& call, const DirectCall& direct, unsigned int count,
                                  CUgraphicsResource* resources, CUstream) noexcept {
  return unmap_resources(call, direct, count, resources);
}
CUresult cuGraphicsUnmapResources_ptsz(Call& call, const DirectCall& direct, unsigned int count,
                                       CUgraphicsResource* resources, CUstream) noexcept {
  return unmap_resources(call, direct, count, resources);
}

}  // namespace vramscope::routes
