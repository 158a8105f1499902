// Memory of other processes and of graphics: borrowed, so recorded apart.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/range_bytes.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// A handle that is open already gives the same address again and counts how often.
CUresult open_ipc(Call& call, const DirectCall& direct, CUdeviceptr* pdptr) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  ImportCounts& open = call.profiler().import_counts();
  if (open.add(*pdptr) > 1) {
    if (call.find(Kind::imported, *pdptr).direct) return code;
    open.begin_again(*pdptr);
  }
  call.adopt(call.place_of(Kind::imported), *pdptr, range_bytes(*pdptr));
  return code;
}

// A resource is known by its handle: what it was mapped at is no longer the program's.
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
                            CUipcMemHandle, unsigned int) noexcept {
  return open_ipc(call, direct, pdptr);
}
CUresult cuIpcOpenMemHandle_v2(Call& call, const DirectCall& direct, CUdeviceptr* pdptr,
                               CUipcMemHandle, unsigned int) noexcept {
  return open_ipc(call, direct, pdptr);
}
CUresult cuIpcCloseMemHandle(Call& call, const DirectCall& direct, CUdeviceptr dptr) noexcept {
  const Found leaving = call.find(Kind::imported, dptr);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && call.profiler().import_counts().remove(dptr) == 0)
    call.forget(leaving);
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
