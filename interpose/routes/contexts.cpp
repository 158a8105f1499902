// Which contexts exist and what they reach, and the waits of the program's own.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "interpose/loader/real.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// Makes a context current for one scope, also on a thread that has none.
class Entered {
 public:
  explicit Entered(CUcontext context) noexcept
      : ok_(real().cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~Entered() {
    CUcontext ours = nullptr;
    if (ok_) real().cuCtxPopCurrent_v2(&ours);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  const bool ok_;
};

// A living context on the device, null: none.
CUcontext context_on(Profiler& profiler, std::uint16_t device) {
  CUcontext found = nullptr;
  profiler.contexts().each_on(device, [&](CUcontext context) { found = context; });
  return found;
}

// What is used of the device, and not recorded, before it gets a context.
std::optional<std::uint64_t> measure_before(Profiler& profiler, CUdevice device) {
  if (device < 0 || device >= CUdevice{kMaxDevices} || profiler.captures().any()) return {};
  const auto index = static_cast<std::uint16_t>(device);
  const CUcontext other = context_on(profiler, index);
  if (other == nullptr) return DeviceUse::used_before(device);
  const Entered entered(other);
  if (!entered.ok()) return {};
  return profiler.device_use().measure(index);
}

void measure_after(Profiler& profiler, CUcontext context, CUdevice device, std::uint64_t before) {
  const Entered entered(context);
  if (!entered.ok()) return;
  const auto index = static_cast<std::uint16_t>(device);
  if (const auto after = profiler.device_use().measure(index)) {
    profiler.device_use().made_context(context, index, before, *after);
  }
}

// `began`: of Contexts.
CUresult begin_context(Call& call, const DirectCall& direct, CUcontext* context, CUdevice device,
                       bool is_new, void (Contexts::*began)(CUcontext, CUdevice) noexcept) {
  Profiler& profiler = call.profiler();
  const auto before = is_new ? measure_before(profiler, device) : std::nullopt;
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || context == nullptr) return code;
  (profiler.contexts().*began)(*context, device);
  if (before) measure_after(profiler, *context, device, *before);
  return code;
}

CUresult create_context(Call& call, const DirectCall& direct, CUcontext* context, CUdevice device) {
  return begin_context(call, direct, context, device, true, &Contexts::created);
}

bool has_primary(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  return real().cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active != 0;
}

// The numbers are taken before the wait. Who reaches the memory is asked after it: a context that
// used a block before it was freed is known by then, or has ended.
CUresult synchronize(Call& call, const DirectCall& direct, CUcontext context) {
  Profiler& profiler = call.profiler();
  Place place;
  if (!profiler.waits_at_reuse() || !profiler.contexts().find(context, place)) return direct();
  CachingAllocator& allocator = profiler.allocator();
  const Place pinned{.kind = Kind::pinned};
  const std::uint32_t number = allocator.begin_wait(place);
  const std::uint32_t number_of_pinned = allocator.begin_wait(pinned);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  if (profiler.contexts().alone_reaches(context, place)) allocator.end_wait(place, number);
  if (profiler.contexts().alone_reaches(context, pinned)) {
    allocator.end_wait(pinned, number_of_pinned);
  }
  return code;
}

CUcontext current_context() {
  CUcontext context = nullptr;
  real().cuCtxGetCurrent(&context);
  return context;
}

}  // namespace

CUresult cuCtxCreate(Call& call, const DirectCall& direct, CUcontext* pctx, unsigned int,
                     CUdevice dev) noexcept {
  return create_context(call, direct, pctx, dev);
}
CUresult cuCtxCreate_v2(Call& call, const DirectCall& direct, CUcontext* pctx, unsigned int,
                        CUdevice dev) noexcept {
  return create_context(call, direct, pctx, dev);
}
CUresult cuCtxCreate_v3(Call& call, const DirectCall& direct, CUcontext* pctx, CUexecAffinityParam*,
                        int, unsigned int, CUdevice dev) noexcept {
  return create_context(call, direct, pctx, dev);
}
#if CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(Call& call, const DirectCall& direct, CUcontext* pctx, CUctxCreateParams*,
                        unsigned int, CUdevice dev) noexcept {
  return create_context(call, direct, pctx, dev);
}
#endif
CUresult cuDevicePrimaryCtxRetain(Call& call, const DirectCall& direct, CUcontext* pctx,
                                  CUdevice dev) noexcept {
  return begin_context(call, direct, pctx, dev, !has_primary(dev), &Contexts::retained);
}

CUresult cuCtxEnablePeerAccess(Call& call, const DirectCall& direct, CUcontext peerContext,
                               unsigned int) noexcept {
  const CUresult code = direct();
  Place accessing;
  if (code == CUDA_SUCCESS && call.find_place(accessing)) {  // which also notes a first device
    call.profiler().contexts().enabled_peer(peerContext);
  }
  return code;
}

CUresult cuCtxSynchronize(Call& call, const DirectCall& direct) noexcept {
  return synchronize(call, direct, current_context());
}
#if CUDA_VERSION >= 13000
CUresult cuCtxSynchronize_v2(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return synchronize(call, direct, ctx != nullptr ? ctx : current_context());
}
#endif

}  // namespace vramscope::routes
