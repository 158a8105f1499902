// Pinned host memory that our allocator serves, and the answers about it. Registered memory is the
// program's own and stays direct.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/fault.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// A block for memory with exactly these flags in the current context. What the driver would refuse,
// or answers in a way of its own (zero bytes), goes to the driver.
CUresult allocate_pinned(Call& call, const DirectCall& direct, void** pointer, std::size_t bytes,
                         unsigned int flags) {
  Profiler& profiler = call.profiler();
  call.plan(bytes);
  const bool is_plain = pointer != nullptr && bytes != 0 && (flags & ~kHostFlags) == 0;
  if (!profiler.routes_pinned_memory() || !is_plain) return direct();
  if (profiler.captures().any()) return direct();  // the driver knows what a capture allows
  Place place;
  if (!call.find_place(place)) return direct();  // which says that there is no context
  place = with_host_flags(place, fault(Fault::flags_dropped) ? 0 : flags);
  const Outcome outcome = profiler.allocator().allocate(
      {.where = place, .bytes = bytes, .tag = call.tag(place, bytes)});
  if (served_nothing(outcome.status)) return direct();
  call.note(outcome);
  if (outcome.status.ok()) *pointer = reinterpret_cast<void*>(outcome.address);
  return to_code(outcome.status);
}

// What to ask the driver about instead of `pointer`: a block of ours that is free, and the slack
// behind one, are unknown to the program.
void* as_program_knows(Call& call, void* pointer) {
  const Address address = to_address(pointer);
  const Found found = find_ours(call.profiler().allocator(), address);
  const bool is_pinned = found.owned && found.where.kind == Kind::pinned;
  return is_pinned && outside_live_block(found, address) ? unknown_pointer() : pointer;
}

}  // namespace

CUresult cuMemHostAlloc(Call& call, const DirectCall& direct, void** pp, std::size_t bytesize,
                        unsigned int Flags) noexcept {
  return allocate_pinned(call, direct, pp, bytesize, Flags);
}

// cuMemHostAlloc without flags, which shares its blocks. Its first generation (CUDA 2) is the
// driver's: it serves contexts of that generation only.
CUresult cuMemAllocHost_v2(Call& call, const DirectCall& direct, void** pp,
                           std::size_t bytesize) noexcept {
  return allocate_pinned(call, direct, pp, bytesize, 0);
}

namespace {

// The host may have no room only because of what lies idle with us.
CUresult register_memory(Call& call, const DirectCall& direct) {
  const CUresult code = direct();
  Profiler& profiler = call.profiler();
  if (code != CUDA_ERROR_OUT_OF_MEMORY || profiler.captures().forbid_frees()) return code;
  return profiler.allocator().trim_pinned() ? direct() : code;
}

}  // namespace

CUresult cuMemHostRegister(Call& call, const DirectCall& direct, void*, std::size_t,
                           unsigned int) noexcept {
  return register_memory(call, direct);
}
CUresult cuMemHostRegister_v2(Call& call, const DirectCall& direct, void*, std::size_t,
                              unsigned int) noexcept {
  return register_memory(call, direct);
}

// Registered memory is the program's own; pinned memory of ours that is free is nobody's.
CUresult cuMemHostUnregister(Call& call, const DirectCall& direct, void* p) noexcept {
  void* const known = as_program_knows(call, p);
  return known == p ? direct() : real().cuMemHostUnregister(known);
}

// The driver cuts a small portable block from a chunk that lies there without the flag, if there is
// one, and then does not name the flag (H200, driver 580.159.04). Such a chunk may be there only
// because we keep it: the flags that the program asked for are in the answer in any case.
CUresult cuMemHostGetFlags(Call& call, const DirectCall&, unsigned int* pFlags, void* p) noexcept {
  const CUresult code = real().cuMemHostGetFlags(pFlags, as_program_knows(call, p));
  if (code != CUDA_SUCCESS) return code;
  const Found found = find_ours(call.profiler().allocator(), to_address(p));
  const bool is_ours = found.owned && found.where.kind == Kind::pinned;
  if (is_ours && !fault(Fault::flags_dropped)) *pFlags |= host_flags(found.where);
  return code;
}

CUresult cuMemHostGetDevicePointer(Call& call, const DirectCall&, CUdeviceptr_v1* pdptr, void* p,
                                   unsigned int Flags) noexcept {
  return real().cuMemHostGetDevicePointer(pdptr, as_program_knows(call, p), Flags);
}
CUresult cuMemHostGetDevicePointer_v2(Call& call, const DirectCall&, CUdeviceptr* pdptr, void* p,
                                      unsigned int Flags) noexcept {
  return real().cuMemHostGetDevicePointer_v2(pdptr, as_program_knows(call, p), Flags);
}

}  // namespace vramscope::routes
