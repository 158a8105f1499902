// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/cuda_backend.h"

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"
#include "allocator/base/uncancelled.h"
#include "interpose/base/clock.h"
#include "interpose/driver/host_memory.h"
#include "interpose/loader/real.h"
#include "reporter/base/segment.h"

namespace vramscope {
Status to_status(CUresult code) noexcept {
  switch (code) {
    case CUDA_SUCCESS:
      return {};
    case CUDA_ERROR_OUT_OF_MEMORY:
      return {Result::out_of_memory, code};
    default:
      return {Result::failed, code};
  }
}

namespace {

// A thread that ends inside the driver's function (base/leaving.h) may have got memory: then the
// driver wrote its address.
CUresult as_given(CUresult code, Address segment) {
  return code == kThreadLeft && segment != 0 ? CUDA_SUCCESS : code;
}

// Every context can access pinned memory (CUDA C++ Programming Guide, unified virtual addressing),
// but it ends with the context that requested it.
Grant pin(Place where, std::size_t bytes) {
  const std::uint64_t start = now_ns();
  void* segment = nullptr;
  const CUresult code = real().cuMemHostAlloc(&segment, bytes, host_flags(where));
  const auto address = reinterpret_cast<std::uintptr_t>(segment);
  return {to_status(as_given(code, address)), address, elapsed_ns(start)};
}

// Whether the code means that the segment went with its context, or that the driver does not know
// it.
bool is_end_of_context(CUresult code) {
  switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return true;
    default:
      return false;
  }
}

// Whether a capture that began meanwhile refused, so that nothing happened.
bool is_of_capture(CUresult code) {
  return code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

CUresult give_back(Place where, Address segment) {
  if (where.kind == Kind::pinned) return real().cuMemFreeHost(reinterpret_cast<void*>(segment));
  return real().cuMemFree_v2(segment);
}

}  // namespace

SegmentChange CudaBackend::noted(SegmentChange change) const noexcept {
  if (segments_.changed == nullptr) return change;
  change.at_ns = now_ns();
  change.serial = segments_.newest(segments_.context);
  return change;
}

void CudaBackend::tell(const SegmentChange& change) const noexcept {
  if (segments_.changed != nullptr) segments_.changed(segments_.context, change);
}

// The allocator calls this on the thread of the program's call, in the place's context.
Grant CudaBackend::reserve(Place where, std::size_t bytes) noexcept {
  const Grant grant = where.kind == Kind::pinned ? pin(where, bytes) : reserve_plain(where, bytes);
  if (!grant.status.ok()) return grant;
  tell(noted({.what = SegmentChange::What::came,
              .place = where,
              .address = grant.address,
              .bytes = bytes}));
  return grant;
}

Grant CudaBackend::reserve_plain(Place where, std::size_t bytes) noexcept {
  const std::uint64_t start = now_ns();
  CUdeviceptr segment = 0;
  const CUresult code = as_given(real().cuMemAlloc_v2(&segment, bytes), segment);
  Grant grant{to_status(code), segment, elapsed_ns(start)};
  if (code == CUDA_SUCCESS) sample_free_memory(where.device, grant);
  return grant;
}

// Another thread may be given the address as soon as the driver has it back.
Reply CudaBackend::release(Place where, Address segment) noexcept {
  const SegmentChange gone =
      noted({.what = SegmentChange::What::went, .place = where, .address = segment});
  const Reply reply = release_in_context(where, segment);
  if (reply.status.ok()) tell(gone);
  return reply;
}

Reply CudaBackend::release_in_context(Place where, Address segment) noexcept {
  if (leaving::is_on()) return {{Result::forbidden, 0}};
  const Uncancelled whole;  // the program did not request it
  const std::uint64_t start = now_ns();
  const ContextScope scope(contexts_, context_of(where));
  if (contexts_.handle(where) == nullptr) {
    return {{Result::invalid, CUDA_ERROR_CONTEXT_IS_DESTROYED}};
  }
  CUresult code = scope.code();
  if (code == CUDA_SUCCESS && captures_.forbid_frees()) {
    code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (code == CUDA_SUCCESS) code = give_back(where, segment);
  if (is_of_capture(code)) return {{Result::forbidden, 0}, elapsed_ns(start)};
  Status status = to_status(code);
  // The current context has ended, and the segment belongs to another one.
  const bool is_kept = scope.code() == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (is_end_of_context(code) && !is_kept) status.result = Result::invalid;
  // The driver may have taken it back already, so it must not be reused.
  if (leaving::is_on()) status.result = Result::invalid;
  return {status, elapsed_ns(start)};
}

Grant CudaBackend::reserve_addresses(Place where, std::uint64_t bytes, std::uint64_t) noexcept {
  return pages_.reserve(where.device, bytes);
}

Grant CudaBackend::map(Place where, Address address, std::uint64_t bytes,
                       std::uint64_t page) noexcept {
  Grant grant = pages_.map(where.device, address, bytes, page);
  if (!grant.status.ok()) return grant;
  tell(noted({.what = SegmentChange::What::pages_came,
              .place = where,
              .address = address,
              .bytes = bytes,
              .page_bytes = page}));
  sample_free_memory(where.device, grant);
  return grant;
}

Reply CudaBackend::unmap(Place where, Address address, std::uint64_t bytes,
                         std::uint64_t page) noexcept {
  const SegmentChange gone = noted({.what = SegmentChange::What::pages_went,
                                    .place = where,
                                    .address = address,
                                    .bytes = bytes,
                                    .page_bytes = page});
  const Reply reply = pages_.unmap(address, bytes);
  if (reply.status.ok()) tell(gone);
  return reply;
}

void CudaBackend::release_addresses(Place, Address address, std::uint64_t bytes) noexcept {
  pages_.release(address, bytes);
}

// A capture may have begun since the allocator checked. The thread that begins one does not wait
// for us, but no wait starts here from then on.
CUresult CudaBackend::wait_here() noexcept {
  if (captures_.any()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUresult of_one_stream = CUDA_ERROR_NOT_READY;
  while (fault(Fault::reuse_after_one_stream) && of_one_stream == CUDA_ERROR_NOT_READY) {
    of_one_stream = real().cuStreamQuery(CU_STREAM_LEGACY);
  }
  if (fault(Fault::reuse_after_one_stream)) return of_one_stream;
  return real().cuCtxSynchronize.first();
}

CUresult CudaBackend::wait_in(Contexts::Generation one) noexcept {
  const ContextScope scope(contexts_, one);
  if (leaving::is_on()) return kThreadLeft;
  return scope.code() == CUDA_SUCCESS ? wait_here() : scope.code();
}

// Waits without using the handle if the place's context is current: a thread that ends that context
// meanwhile would also end it during the program's own call.
CUresult CudaBackend::wait_in_own(Contexts::Generation own) noexcept {
  CUcontext current = nullptr;
  const CUresult code = real().cuCtxGetCurrent.first(&current);
  const bool is_current = code == CUDA_SUCCESS && current != nullptr && contexts_.is(own, current);
  if (!is_current) return wait_in(own);
  return own_waits_(own, [this] { return wait_here(); });
}

// Any answer of another context proves that its work is over: a context with a sticky error runs
// nothing more, and a context that ends meanwhile is finished. Neither error concerns the caller.
// If a capture that began meanwhile forbids the wait, nothing is proved.
CUresult CudaBackend::wait_in_others(Place where) noexcept {
  CUresult refusal = CUDA_SUCCESS;
  if (contexts_.is_sole() || fault(Fault::reuse_after_one_context)) return refusal;
  contexts_.each_beside(where, [&](CUcontext, Contexts::Generation other) {
    if (refusal != CUDA_SUCCESS) return;
    const CUresult code = wait_in(other);
    if (is_of_capture(code) && !fault(Fault::wait_cut_short)) refusal = code;
  });
  return refusal;
}

Reply CudaBackend::wait(Place where) noexcept {
  if (leaving::is_on())
    return {to_status(kThreadLeft)};  // the thread ended during the call's first wait
  return wait_from(now_ns(), where);
}

// Counts from the call's beginning, since reading the clock costs as much as the work before the
// wait.
Reply CudaBackend::wait_first(Place where) noexcept { return wait_from(call_time_ns, where); }

Reply CudaBackend::wait_from(std::uint64_t start, Place where) noexcept {
  if (captures_.any()) return {{Result::forbidden, 0}};
  CUresult code = wait_in_own(context_of(where));
  if (code == CUDA_SUCCESS) code = wait_in_others(where);
  if (is_of_capture(code)) return {{Result::forbidden, 0}, elapsed_ns(start)};
  if (fault(Fault::swallowed_error)) code = CUDA_SUCCESS;
  return {to_status(code), elapsed_ns(start)};
}

// A query of the default stream is the cheapest call that reports earlier errors.
Reply CudaBackend::probe(Place where) noexcept {
  const std::uint64_t start = now_ns();
  const ContextScope scope(contexts_, context_of(where));
  if (captures_.any()) return {{Result::forbidden, 0}, elapsed_ns(start)};
  CUresult code = scope.code();
  if (code == CUDA_SUCCESS) code = real().cuStreamQuery(CU_STREAM_LEGACY);
  if (is_of_capture(code)) return {{Result::forbidden, 0}, elapsed_ns(start)};
  if (code == CUDA_ERROR_NOT_READY) code = CUDA_SUCCESS;
  return {to_status(code), elapsed_ns(start)};
}

bool CudaBackend::may_wait(Place) noexcept { return !captures_.any() && !leaving::is_on(); }

bool CudaBackend::may_release(Place) noexcept {
  return !captures_.forbid_frees() && !leaving::is_on();
}

// The first sample may be unfinished on the thread that used the device first.
std::uint64_t CudaBackend::total_bytes(Place where) noexcept {
  if (where.kind == Kind::pinned) return host_memory_bytes();
  std::size_t total = samples_[where.device].total_bytes.load(std::memory_order_relaxed);
  if (total == 0) real().cuDeviceTotalMem_v2(&total, where.device);
  return total;
}

void CudaBackend::keep_sample(std::uint16_t device, std::size_t free_bytes,
                              std::size_t total_bytes) noexcept {
  Sample& sample = samples_[device];
  sample.free_bytes.store(free_bytes, std::memory_order_relaxed);
  sample.total_bytes.store(total_bytes, std::memory_order_relaxed);
  const bool is_first = sample.taken_ns.load(std::memory_order_relaxed) == 0;
  sample.is_first.store(is_first, std::memory_order_relaxed);
  sample.taken_ns.store(now_ns(), std::memory_order_release);
}

void CudaBackend::note_free_memory(std::uint16_t device, std::size_t free_bytes,
                                   std::size_t total_bytes) noexcept {
  keep_sample(device, free_bytes, total_bytes);
  if (callback_.function != nullptr) {
    callback_.function(callback_.context, device, free_bytes, total_bytes);
  }
}

void CudaBackend::renew_sample(std::uint16_t device) noexcept {
  if (captures_.any()) return;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (real().cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS) return;
  note_free_memory(device, free_bytes, total_bytes);
}

// The allocator reports the use by others, since it knows how much is recorded. A report from here
// would take its lock twice.
void CudaBackend::sample_free_memory(std::uint16_t device, Grant& grant) noexcept {
  if (captures_.any() || !is_sample_old(device, now_ns(), kSampleEveryNs)) return;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (real().cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS) {
    keep_sample(device, free_bytes, total_bytes);
    grant.free_bytes = free_bytes;
    grant.total_bytes = total_bytes;
  }
}

FreeMemory CudaBackend::free_memory(std::uint16_t device) const noexcept {
  const Sample& sample = samples_[device];
  const std::uint64_t taken = sample.taken_ns.load(std::memory_order_acquire);
  return {sample.free_bytes.load(std::memory_order_relaxed),
          sample.total_bytes.load(std::memory_order_relaxed), taken};
}

}  // namespace vramscope
