// Pinned and registered host memory: ordinary pages that the driver knows about.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr unsigned kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

// One registration cannot be larger since r580 (maru#65).
constexpr std::size_t kMostRegistered = std::size_t{512} << 30;
constexpr int kFirstWithMost = 13000;

// Whether the process has pages at all of the range.
bool is_mapped(Address start, std::uint64_t bytes) {
  unsigned char present[4096];
  const Address end = start + bytes;
  for (Address at = start / kHostPage * kHostPage; at < end; at += sizeof present * kHostPage) {
    const std::uint64_t pages = std::min(sizeof present, (end - at + kHostPage - 1) / kHostPage);
    if (mincore(reinterpret_cast<void*>(at), pages * kHostPage, present) != 0) return false;
  }
  return true;
}

// Small pinned memory comes in chunks of a context. A request for portable memory is cut from a
// chunk of plain memory where one has room, and its flags then say no more of it; write-combined
// memory has chunks of its own (H200, driver 580.159.04, 2026-11-26: 4 bytes to 16 MiB of each
// set).
constexpr std::uint64_t kPinnedChunk = std::uint64_t{2} << 20;

unsigned shown_flags(CUcontext context, std::uint64_t bytes, unsigned flags) {
  if ((flags & CU_MEMHOSTALLOC_PORTABLE) == 0 || (flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0 ||
      bytes >= kPinnedChunk) {
    return flags;
  }
  constexpr unsigned kOthers = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
  std::uint64_t in_plain_chunks = 0;
  driver().memory.each([&](const Allocation& a) {
    const bool is_plain =
        a.kind == Kind::pinned && a.context == context && (a.flags & kOthers) == 0;
    if (is_plain && a.bytes < kPinnedChunk) in_plain_chunks += a.bytes;
  });
  const std::uint64_t in_last = in_plain_chunks % kPinnedChunk;
  return in_last != 0 && in_last + bytes <= kPinnedChunk ? flags & ~CU_MEMHOSTALLOC_PORTABLE
                                                         : flags;
}

CUresult pin(void** pointer, std::size_t bytes, unsigned flags) {
  CUcontext context = current_context();
  void* const start = host_pages(context, bytes);
  if (start == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  driver().memory.add({.start = address_of(start),
                       .bytes = bytes,
                       .kind = Kind::pinned,
                       .context = context,
                       .device = context->device,
                       .flags = shown_flags(context, bytes, flags)});
  *pointer = start;
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

// Zero bytes succeed and give no memory (seen on driver 590).
CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr || (flags & ~kHostFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *pointer = nullptr;
    return CUDA_SUCCESS;
  }
  return pin(pointer, bytes, flags);
}

CUresult cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return body::cuMemHostAlloc(pointer, bytes, 0);
}

// Needs no context, as cuMemFree.
CUresult cuMemFreeHost(void* pointer) {
  if (const CUresult refusal = refuse_in_ended_context(); refusal != CUDA_SUCCESS) return refusal;
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr) return CUDA_SUCCESS;
  const auto pinned = [](const Allocation& a) { return a.kind == Kind::pinned; };
  const auto found = driver().memory.find(address_of(pointer));
  if (!found || found->start != address_of(pointer) || !pinned(*found)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  driver().wait_for_users(*found);
  const auto taken = driver().memory.take(address_of(pointer), pinned);
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  driver().give_back(*taken);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (address_of(pointer) + bytes < bytes || driver().is_device_address(address_of(pointer))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes >= kMostRegistered && configuration().driver_version >= kFirstWithMost) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0 && !is_mapped(address_of(pointer), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto known = driver().memory.find_any(address_of(pointer), bytes);
  if (known && known->kind == Kind::pinned) return CUDA_ERROR_INVALID_VALUE;
  CUcontext context = current_context();
  const bool added = driver().memory.add({.start = address_of(pointer),
                                          .bytes = bytes,
                                          .kind = Kind::registered,
                                          .context = context,
                                          .device = context->device,
                                          .flags = flags});
  return added ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return body::cuMemHostRegister_v2(pointer, bytes, flags);
}

// Interior pointers and memory of cuMemHostAlloc are invalid (row 26); memory that is not known at
// all was not registered. Works from any context and from none (openucx/ucx#10643).
CUresult cuMemHostUnregister(void* pointer) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().memory.find(address_of(pointer));
  if (!found) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  const auto registered = [](const Allocation& a) { return a.kind == Kind::registered; };
  if (found->start != address_of(pointer) || !registered(*found)) return CUDA_ERROR_INVALID_VALUE;
  driver().wait_for_all_work();
  return driver().memory.take(address_of(pointer), registered) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned flags) {
  if (device == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().memory.find(address_of(pointer));
  if (!found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *device = address_of(pointer);
  return CUDA_SUCCESS;
}

// Under unified addressing all pinned memory is mapped: flags 0 read back as DEVICEMAP. Of
// registered memory, too (H200, driver 580.159.04).
CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().memory.find(address_of(pointer));
  if (!found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *flags = (found->flags & kHostFlags) | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
