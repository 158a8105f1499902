// Serves pinned host memory and answers questions about it. Registered memory belongs to the
// program and stays direct.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fault.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

// Allocates a block with exactly these flags in the current context. Requests that the driver would
// refuse, or answers specially (zero bytes), go to the driver.
CUresult allocate_pinned(Call& call, const DirectCall& direct, void** pointer, std::size_t bytes,
                         unsigned int flags) {
  Profiler& profiler = call.profiler();
  call.plan(bytes);
  const bool is_plain = pointer != nullptr && bytes != 0 && (flags & ~kHostFlags) == 0;
  if (!is_plain) return direct();
  if (!profiler.routes_pinned_memory()) return bounded_pinned(call, direct, bytes);
  if (profiler.captures().any()) return direct();  // the driver decides what a capture allows
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

// Returns the pointer to pass to the driver: free blocks of ours, and the slack after a block, must
// be unknown to the program.
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

// The same as cuMemHostAlloc without flags, and shares its blocks. The first version (CUDA 2) goes
// to the driver, since it serves only contexts of that version.
CUresult cuMemAllocHost_v2(Call& call, const DirectCall& direct, void** pp,
                           std::size_t bytesize) noexcept {
  return allocate_pinned(call, direct, pp, bytesize, 0);
}

namespace {

// The host may lack memory only because of our idle memory.
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

// Registered memory belongs to the program; our free pinned memory is unknown to it.
CUresult cuMemHostUnregister(Call& call, const DirectCall& direct, void* p) noexcept {
  void* const known = as_program_knows(call, p);
  return known == p ? direct() : real().cuMemHostUnregister(known);
}

// The driver may cut a small portable block from a chunk without the flag, and then does not report
// the flag (H200, driver 580.159.04). Such a chunk may exist only because we keep it, so the answer
// always includes the flags that the program requested.
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
