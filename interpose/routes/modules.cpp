// Measures code by the drop of the device's free memory while it is loaded.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/real.h"
#include "interpose/routes/capacity_checks.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

CUresult measured(Call& call, const DirectCall& direct) {
  Profiler& profiler = call.profiler();
  Place place;
  if (profiler.captures().any() || !call.find_place(place)) return direct();
  CUcontext context = nullptr;
  real().cuCtxGetCurrent(&context);
  UnrecordedUse& use = profiler.unrecorded_use();
  const auto before = use.measure(place.device);
  const CUresult code = ask_twice(call, direct, place.device);
  if (code != CUDA_SUCCESS || !before) return code;
  if (const auto after = use.measure(place.device)) {
    use.changed_code(context, place.device, *before, *after);
  }
  return code;
}

}  // namespace

CUresult cuModuleLoad(Call& call, const DirectCall& direct, CUmodule*, const char*) noexcept {
  return measured(call, direct);
}
CUresult cuModuleLoadData(Call& call, const DirectCall& direct, CUmodule*, const void*) noexcept {
  return measured(call, direct);
}
CUresult cuModuleLoadDataEx(Call& call, const DirectCall& direct, CUmodule*, const void*,
                            unsigned int, CUjit_option*, void**) noexcept {
  return measured(call, direct);
}
CUresult cuModuleLoadFatBinary(Call& call, const DirectCall& direct, CUmodule*,
                               const void*) noexcept {
  return measured(call, direct);
}
CUresult cuModuleUnload(Call& call, const DirectCall& direct, CUmodule) noexcept {
  return measured(call, direct);
}
#if CUDA_VERSION >= 12000
CUresult cuLibraryLoadData(Call& call, const DirectCall& direct, CUlibrary*, const void*,
                           CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                           unsigned int) noexcept {
  return measured(call, direct);
}
CUresult cuLibraryLoadFromFile(Call& call, const DirectCall& direct, CUlibrary*, const char*,
                               CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                               unsigned int) noexcept {
  return measured(call, direct);
}
CUresult cuLibraryUnload(Call& call, const DirectCall& direct, CUlibrary) noexcept {
  return measured(call, direct);
}
#endif

}  // namespace vramscope::routes
