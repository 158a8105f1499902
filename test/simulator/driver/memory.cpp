// Device and managed memory: allocation, free, and questions about amounts and ranges.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "test/simulator/device/imports.h"
#include "test/simulator/device/managed_ranges.h"
#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kPitchAlignment = 512;  // what current devices answer

void sleep_us(std::uint64_t us) {
  if (us != 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

CUresult allocate(CUdeviceptr* pointer, std::uint64_t bytes) {
  CUcontext context = current_context();
  reclaim_from_pools(driver().device_of(context), bytes);
  const Grant grant = driver().take_device_memory(context, bytes);
  if (!grant.status.ok()) return result_of(grant.status);
  *pointer = grant.address;
  return CUDA_SUCCESS;
}

CUresult allocate_managed(CUdeviceptr* pointer, std::uint64_t bytes, unsigned flags) {
  CUcontext context = current_context();
  const Status counted = driver().device_of(context).accounts.count_call();
  if (!counted.ok()) return result_of(counted);
  const Grant grant = driver().take_managed_memory(context, bytes, flags);
  if (!grant.status.ok()) return result_of(grant.status);
  *pointer = grant.address;
  return CUDA_SUCCESS;
}

void give_back_on_device(const Allocation& allocation) {
  Device& device = *driver().devices[static_cast<std::size_t>(allocation.device)];
  if (device.graphs.contains(allocation.start)) {
    if (const auto unmapped = unmap_graph_allocation(allocation.start)) finish_free(*unmapped);
    return;
  }
  if (allocation.kind == Kind::managed) {
    managed_ranges().forget(allocation.start, allocation.bytes);
  }
  if (allocation.pool != nullptr) return allocation.pool->give(allocation.start, allocation.bytes);
  const bool is_left = device.shadow.discard(allocation.start, allocation.bytes);
  const std::uint64_t left = is_left ? round_up(allocation.bytes, kGranule) : 0;
  (void)device.accounts.release(allocation.start, left);
  if (!is_left) return;
  device.left.add(left, [&shadow = device.shadow, id = allocation.buffer_id] {
    return shadow.is_open_elsewhere(id);
  });
}

}  // namespace

Grant Driver::take_device_memory(CUcontext context, std::uint64_t bytes, Origin origin) {
  const Grant grant = grant_in(context, bytes);
  if (!grant.status.ok()) return grant;
  device_of(context).shadow.settle(grant.address, bytes);
  memory.add({.start = grant.address,
              .bytes = bytes,
              .kind = Kind::device,
              .origin = origin,
              .context = context,
              .device = context->device});
  return grant;
}

// Pages of managed memory are where they were touched last: as no kernel runs here, on the host.
// They do not run out with the device, which the driver oversubscribes on Linux since Pascal,
// unless the host's memory is the device's.
Grant Driver::take_managed_memory(CUcontext context, std::uint64_t bytes, unsigned flags,
                                  Origin origin) {
  void* const start = host_pages(context, bytes);
  if (start == nullptr) return {.status = {Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY}};
  memory.add({.start = address_of(start),
              .bytes = bytes,
              .kind = Kind::managed,
              .origin = origin,
              .context = context,
              .device = context->device,
              .flags = flags});
  return {.status = {}, .address = address_of(start)};
}

std::uint64_t taken_by_host_pages(std::uint64_t bytes) {
  return configuration().model.integrated != 0 ? round_up(bytes, kHostPage) : 0;
}

void* host_pages(CUcontext context, std::uint64_t bytes) {
  SimulatedDevice& accounts = driver().device_of(context).accounts;
  const std::uint64_t taken = taken_by_host_pages(bytes);
  if (!accounts.keep(taken)) return nullptr;
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start != MAP_FAILED) return start;
  accounts.keep_less(taken);
  return nullptr;
}

void Driver::give_back(const Allocation& allocation) {
  if (allocation.kind == Kind::registered) return;
  end_life(allocation);
  if (allocation.origin == Origin::imported) {
    end_import(allocation.start);
    return;
  }
  const bool is_managed = allocation.kind == Kind::managed && allocation.pool == nullptr;
  if (is_managed) managed_ranges().forget(allocation.start, allocation.bytes);
  if (allocation.kind == Kind::pinned || is_managed) {
    const std::lock_guard nobody_moves_bytes(bytes_mutex());
    munmap(reinterpret_cast<void*>(allocation.start), allocation.bytes);
    devices[static_cast<std::size_t>(allocation.device)]->accounts.keep_less(
        taken_by_host_pages(allocation.bytes));
    return;
  }
  give_back_on_device(allocation);
}

namespace body {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return allocate(pointer, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr || pitch == nullptr || width == 0 || height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kMost = std::size_t{1} << 48;  // beyond any device; keeps the product small
  if (width > kMost || height > kMost / width) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t row = round_up(width, kPitchAlignment);
  const CUresult result = allocate(pointer, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned flags) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return allocate_managed(pointer, bytes, flags);
}

// Waits for its users first, as callers rely on (kokkos#9307); memory of a pool gets
// no such wait (row 7). A broken device shows with memory of its own, whatever context is current.
// Works under any context and under none (an H200 with driver 580).
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  if (const CUresult refusal = refuse_in_ended_context(); refusal != CUDA_SUCCESS) return refusal;
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (pointer == 0) return CUDA_SUCCESS;
  const auto freeable = [](const Allocation& allocation) { return allocation.is_freeable(); };
  const auto found = driver().memory.find(pointer);
  if (!found || found->start != pointer || !freeable(*found)) return CUDA_ERROR_INVALID_VALUE;
  if (found->pool == nullptr && found->kind != Kind::stream_ordered)
    driver().wait_for_users(*found);
  if (const CUresult broken = check_device_of(*found); broken != CUDA_SUCCESS) return broken;
  sleep_us(configuration().slow_free_us);
  const auto taken = driver().memory.take(pointer, freeable);
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  driver().give_back(*taken);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  Device& device = driver().device_of(current_context());
  device.take_what_was_let_go();
  const SimulatedDevice& accounts = device.accounts;
  if (free != nullptr) *free = accounts.free_bytes();
  if (total != nullptr) *total = accounts.capacity();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr pointer) {
  const auto found = driver().memory.find(pointer);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (start != nullptr) *start = found->start;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
