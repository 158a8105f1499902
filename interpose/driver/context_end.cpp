// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/context_end.h"

#include "allocator/base/fault.h"
#include "interpose/base/event_of.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

// Memory of pools, handles and graphs belongs to the device and does not end with a context. An
// executable graph does not end with any context either (seen on an H200): it can be launched in
// others.
constexpr Kind kKindsOfContext[] = {Kind::device, Kind::managed,  Kind::pinned,   Kind::registered,
                                    Kind::array,  Kind::imported, Kind::external, Kind::graphics};

// A context from before may never have been seen.
std::optional<std::uint16_t> device_from_before(Profiler& profiler, CUcontext context) {
  const Real& driver = real();
  const bool may_be = context != nullptr && profiler.unrecorded_use().from_before().any();
  if (!may_be || driver.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return std::nullopt;
  CUdevice device = -1;
  const bool is_known = driver.cuCtxGetDevice(&device) == CUDA_SUCCESS && device >= 0;
  driver.cuCtxPopCurrent_v2(&context);
  if (!is_known || device >= CUdevice{kMaxDevices}) return std::nullopt;
  return static_cast<std::uint16_t>(device);
}

}  // namespace

ContextEnd::ContextEnd(Profiler& profiler, CUcontext context, Contexts::Ending::Uses uses) noexcept
    : profiler_(profiler),
      context_(context),
      device_(device_from_before(profiler, context)),
      generation_(profiler.contexts().begin_end(context)),
      ending_(profiler.contexts(), generation_, uses) {}

ContextEnd::~ContextEnd() {
  if (!has_happened_ && generation_ == Contexts::unseen) profiler_.contexts().not_ended(context_);
}

void ContextEnd::happened() noexcept {
  has_happened_ = true;
  GraphMemory& graph_memory = profiler_.graph_memory();
  profiler_.captures().context_ended(context_, [&graph_memory](CUgraph graph) {
    graph_memory.ended(graph, graph_memory.number_of(graph));
  });
  profiler_.contexts().forget_attachments(context_);
  profiler_.unrecorded_use().ended(context_, device_);
  if (fault(Fault::wrong_epoch)) return;
  const auto forget = [this](Place place) {
    Outcome ended;
    ended.where = place;
    ended.serial = profiler_.allocator().forget_place(place);
    profiler_.recorder().record_besides(event_of(MemoryChange::none, ended));
  };
  profiler_.contexts().ended(context_, generation_, [&](Place place) {
    for (const Kind kind : kKindsOfContext) {
      forget(in_context(kind, place.device, place.context));
    }
    const Place pinned = in_context(Kind::pinned, place.device, place.context);
    for (unsigned flags = 0; flags <= kHostFlags; ++flags) forget(with_host_flags(pinned, flags));
  });
}

}  // namespace vramscope
