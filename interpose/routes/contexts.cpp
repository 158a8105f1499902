// Tracks contexts: their beginning and end, their peers, and the program's own waits for them.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>

#include "interpose/driver/context_end.h"
#include "interpose/loader/real.h"
#include "interpose/routes/capacity_checks.h"
#include "interpose/routes/other_context.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

struct Before {
  std::uint64_t bytes;
  bool is_first;
};

// Measures the unrecorded use of a device before it gets a context.
std::optional<Before> measure_before(Profiler& profiler, CUdevice device) {
  if (device < 0 || device >= CUdevice{kMaxDevices} || profiler.captures().any()) return {};
  const auto index = static_cast<std::uint16_t>(device);
  const Contexts::Generation other = context_on(profiler, index);
  if (other == Contexts::unseen) {
    const std::optional<std::uint64_t> bytes = UnrecordedUse::used_before(device);
    return bytes ? std::optional<Before>({*bytes, true}) : std::nullopt;
  }
  const std::optional<std::uint64_t> bytes = unrecorded_now(profiler, index, other);
  return bytes ? std::optional<Before>({*bytes, false}) : std::nullopt;
}

void measure_after(Profiler& profiler, CUcontext context, CUdevice device, Before before) {
  if (profiler.captures().any()) return;
  Place place;
  if (!profiler.contexts().find(context, place)) return;
  const ContextScope scope(profiler.contexts(), place.context);
  if (scope.code() != CUDA_SUCCESS) return;
  const auto index = static_cast<std::uint16_t>(device);
  if (before.is_first) {
    profiler.unrecorded_use().made_first_context(context, index, before.bytes);
  } else if (const auto after = profiler.unrecorded_use().measure(index)) {
    profiler.unrecorded_use().made_context(context, index, before.bytes, *after);
  }
}

// `began`: the member of Contexts that notes the beginning.
CUresult begin_context(Call& call, const DirectCall& direct, CUcontext* context, CUdevice device,
                       bool is_new, void (Contexts::*began)(CUcontext, CUdevice) noexcept) {
  Profiler& profiler = call.profiler();
  const auto before = is_new ? measure_before(profiler, device) : std::nullopt;
  const bool is_device = device >= 0 && device < CUdevice{kMaxDevices};
  const CUresult code =
      is_device ? ask_twice(call, direct, static_cast<std::uint16_t>(device)) : direct();
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

// The numbers are taken before the wait. The contexts that may use the memory are determined after
// it: a context that used a block before its free is known by then, or has ended.
CUresult synchronize(Call& call, const DirectCall& direct, CUcontext context) {
  Profiler& profiler = call.profiler();
  Place place;
  if (!profiler.waits_at_reuse() || !profiler.contexts().find(context, place)) return direct();
  CachingAllocator& allocator = profiler.allocator();
  const Place pinned = in_context(Kind::pinned, place.device, place.context);
  const std::uint32_t number = allocator.begin_wait(place);
  std::array<std::uint32_t, kHostFlags + 1> numbers{};
  for (unsigned flags = 0; flags <= kHostFlags; ++flags) {
    numbers[flags] = allocator.begin_wait(with_host_flags(pinned, flags));
  }
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  if (profiler.contexts().is_alone(place)) allocator.end_wait(place, number);
  if (!profiler.contexts().is_alone(pinned)) return code;
  for (unsigned flags = 0; flags <= kHostFlags; ++flags) {
    allocator.end_wait(with_host_flags(pinned, flags), numbers[flags]);
  }
  return code;
}

CUcontext current_context() {
  CUcontext context = nullptr;
  real().cuCtxGetCurrent(&context);
  return context;
}

// With at-reuse, waits for contexts of other devices that used memory which ends now with
// `context`. The driver's own free would have waited for them.
void finish_frees(Profiler& profiler, CUcontext context) {
  Place place;
  if (!profiler.waits_at_reuse() || !profiler.contexts().find(context, place)) return;
  static_cast<void>(profiler.backend().wait(in_context(Kind::pinned, place.device, place.context)));
}

using Uses = Contexts::Ending::Uses;

CUresult destroy_context(Call& call, const DirectCall& direct, CUcontext context) {
  finish_frees(call.profiler(), context);
  ContextEnd end(call.profiler(), context, Uses::are_waited_for);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) end.happened();
  return code;
}

// Returns the handle of a device's primary context; null if it is inactive. Does not create it.
CUcontext primary_context(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  const Real& driver = real();
  if (driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  driver.cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

CUresult end_primary_context(Call& call, const DirectCall& direct, CUdevice device) {
  PoolDevices::Reset reset(call.profiler().pool_devices(), device);
  Contexts& contexts = call.profiler().contexts();
  const CUcontext context = primary_context(device);
  finish_frees(call.profiler(), context);
  const bool may_be_last = contexts.may_be_last_release(context);
  ContextEnd end(call.profiler(), context, may_be_last ? Uses::are_waited_for : Uses::go_on);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) contexts.released(context);
  if (code == CUDA_SUCCESS && context != nullptr && primary_context(device) == nullptr) {
    reset.happened();
    end.happened();
  }
  return code;
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

CUresult cuCtxDestroy(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}
CUresult cuCtxDestroy_v2(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}

// The creator and each cuCtxAttach hold a context; the last cuCtxDetach destroys it.
CUresult cuCtxAttach(Call& call, const DirectCall& direct, CUcontext* pctx, unsigned int) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && pctx != nullptr) call.profiler().contexts().attached(*pctx);
  return code;
}
CUresult cuCtxDetach(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  CUdevice device = 0;
  const bool is_primary = ctx != nullptr && real().cuCtxGetDevice(&device) == CUDA_SUCCESS &&
                          primary_context(device) == ctx;
  finish_frees(call.profiler(), ctx);
  Contexts& contexts = call.profiler().contexts();
  const bool is_last = is_primary ? contexts.may_be_last_release(ctx) : !contexts.is_attached(ctx);
  ContextEnd end(call.profiler(), ctx, is_last ? Uses::are_waited_for : Uses::go_on);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  bool is_held = contexts.detached(ctx);
  if (is_primary) contexts.released(ctx);
  if (is_primary) is_held = primary_context(device) != nullptr;  // its retainers also hold it
  if (!is_held) end.happened();
  return code;
}

CUresult cuDevicePrimaryCtxRelease(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return end_primary_context(call, direct, dev);
}
CUresult cuDevicePrimaryCtxRelease_v2(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return end_primary_context(call, direct, dev);
}

// A reset ends the context even if somebody holds it.
CUresult cuDevicePrimaryCtxReset(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return cuDevicePrimaryCtxReset_v2(call, direct, dev);
}
CUresult cuDevicePrimaryCtxReset_v2(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  PoolDevices::Reset reset(call.profiler().pool_devices(), dev);
  const CUcontext context = primary_context(dev);
  finish_frees(call.profiler(), context);
  ContextEnd end(call.profiler(), context, Uses::are_waited_for);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) reset.happened();
  if (code == CUDA_SUCCESS && context != nullptr) end.happened();
  return code;
}

#if CUDA_VERSION >= 12040
// Memory that is made under a green context belongs to its primary context and outlives it.
CUresult cuCtxFromGreenCtx(Call& call, const DirectCall& direct, CUcontext* pContext,
                           CUgreenCtx hCtx) noexcept {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || pContext == nullptr) return code;
  CUdevice device = 0;
  const ContextScope scope(call.profiler().contexts(), *pContext);
  if (scope.code() != CUDA_SUCCESS || real().cuCtxGetDevice(&device) != CUDA_SUCCESS) return code;
  if (const CUcontext primary = primary_context(device); primary != nullptr) {
    call.profiler().contexts().add_view(hCtx, *pContext, primary);
  }
  return code;
}
CUresult cuGreenCtxDestroy(Call& call, const DirectCall& direct, CUgreenCtx hCtx) noexcept {
  Contexts& contexts = call.profiler().contexts();
  const Contexts::Ending ending(contexts, contexts.view_owner(hCtx), Uses::are_waited_for);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) contexts.remove_views(hCtx);
  return code;
}
#endif

CUresult cuCtxEnablePeerAccess(Call& call, const DirectCall& direct, CUcontext peerContext,
                               unsigned int) noexcept {
  const CUresult code = direct();
  Place accessing;
  if (code == CUDA_SUCCESS && call.find_place(accessing)) {  // also notes the first use of a device
    call.profiler().contexts().enabled_peer(peerContext);
    Place owner;
    if (call.profiler().contexts().find(peerContext, owner)) {
      call.profiler().backend().pages().enabled_peer(accessing.device, owner.device);
    }
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
