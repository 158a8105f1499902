// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes/capacity_checks.h"

#include <algorithm>
#include <new>
#include <string>

#include "interpose/driver/array_bytes.h"
#include "interpose/settings/numbers.h"

namespace vramscope {

namespace {

// The same on the current device.
CUresult ask_twice(Call& call, const DirectCall& direct) {
  Place place;
  return call.find_place(place) ? ask_twice(call, direct, place.device) : direct();
}

// Reserves capacity. Returns false, with a warning in the report, if there is none.
bool promise_room(Call& call, Promise promise) {
  std::uint64_t counted_bytes = 0;
  if (call.profiler().allocator().promise(promise, &counted_bytes)) return true;
  call.note_refused_by_limit(counted_bytes);
  warn_of_capacity(call.profiler(), promise.device);
  return false;
}

}  // namespace

CUresult ask_twice(Call& call, const DirectCall& direct, std::uint16_t device) noexcept {
  const CUresult code = direct();
  if (code != CUDA_ERROR_OUT_OF_MEMORY || call.profiler().captures().forbid_frees()) return code;
  CachingAllocator& allocator = call.profiler().allocator();
  bool trimmed = allocator.trim_device(device);
  for (std::uint16_t other = 0; other < kMaxDevices && !trimmed; ++other) {
    trimmed = allocator.trim_device(other);  // the pool may be on another device
  }
  return trimmed ? direct() : code;
}

CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes) noexcept {
  Profiler& profiler = call.profiler();
  call.plan(bytes);
  if (bytes == 0 || profiler.captures().any()) return direct();
  Place place;
  if (!profiler.limits_capacity() || !call.find_place(place)) return ask_twice(call, direct);
  // Managed memory does not run out with the device, because the driver moves its pages, except
  // where the device's memory is the host's.
  const bool moves =
      call.kind() == Kind::managed && !profiler.allocator().capacity(place.device).is_hosts;
  return moves ? ask_twice(call, direct) : bounded(call, direct, bytes, place);
}

CUresult bounded_pinned(Call& call, const DirectCall& direct, std::uint64_t bytes) noexcept {
  Place place;
  if (!call.profiler().limits_capacity() || !call.find_place(place)) return direct();
  if (!call.profiler().allocator().capacity(0).is_hosts) return direct();
  return bounded(call, direct, bytes, {.kind = Kind::pinned});
}

CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes, Place where) noexcept {
  Profiler& profiler = call.profiler();
  call.plan(bytes);
  if (bytes == 0 || profiler.captures().any()) return direct();
  if (!profiler.limits_capacity()) return ask_twice(call, direct);
  const Promise promise{.device = where.device, .bytes = bytes, .kind = where.kind};
  if (!promise_room(call, promise)) return CUDA_ERROR_OUT_OF_MEMORY;
  call.keep(promise);
  const CUresult code = ask_twice(call, direct);
  if (code != CUDA_SUCCESS) profiler.allocator().end_promise(promise);
  return code;
}

CUresult bounded_elsewhere(Call& call, const DirectCall& direct, std::uint64_t bytes,
                           std::uint16_t device) noexcept {
  Profiler& profiler = call.profiler();
  call.plan(bytes);
  if (bytes == 0 || device >= kMaxDevices || profiler.captures().any()) return direct();
  const bool is_limited = profiler.limits_capacity();
  const Promise promise{.device = device, .bytes = bytes, .kind = Kind::physical};
  if (is_limited && !promise_room(call, promise)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult code = direct();
  if (code == CUDA_ERROR_OUT_OF_MEMORY && profiler.allocator().trim_device(device)) code = direct();
  if (is_limited) profiler.allocator().end_promise(promise);
  return code;
}

namespace {

void end_promises(CachingAllocator& allocator, GraphMemory::Bytes& bytes, std::uint16_t devices) {
  for (std::uint16_t device = 0; device < devices; ++device) {
    if (bytes[device] == 0) continue;
    allocator.end_promise({.device = device, .bytes = bytes[device], .kind = Kind::graph});
  }
  bytes = {};
}

bool promise_room_on_all(Call& call, GraphMemory::Bytes& bytes) {
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    const Promise promise{.device = device, .bytes = bytes[device], .kind = Kind::graph};
    if (promise.bytes == 0 || promise_room(call, promise)) continue;
    end_promises(call.profiler().allocator(), bytes, device);
    return false;
  }
  return true;
}

}  // namespace

CUresult bounded_graph(Call& call, const DirectCall& direct, GraphMemory::Bytes& bytes) noexcept {
  Profiler& profiler = call.profiler();
  if (profiler.captures().any()) return bytes = {}, direct();
  if (!profiler.limits_capacity()) return bytes = {}, ask_twice(call, direct);
  if (!promise_room_on_all(call, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult code = ask_twice(call, direct);
  if (code != CUDA_SUCCESS) end_promises(profiler.allocator(), bytes, kMaxDevices);
  return code;
}

void warn_of_capacity(Profiler& profiler, std::uint16_t device) noexcept {
  try {
    const std::string text = "GPU " + std::to_string(device) + " reached its limit of " +
                             size_text(profiler.allocator().capacity(device).limit) +
                             " (--device-memory-limit)";
    profiler.recorder().warn(text.c_str());
  } catch (const std::bad_alloc&) {
    profiler.recorder().warn("a device reached its limit (--device-memory-limit)");
  }
}

namespace planned {

namespace {

// The pitch is unknown before the call: rows may become longer, each by less than a granule.
std::uint64_t area(std::uint64_t width, std::uint64_t height) {
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(width, height, &bytes) ? Limits::kUnlimited : bytes;
}

// A descriptor that the driver refuses needs no capacity.
template <class Descriptor, class... Levels>
std::uint64_t size_of(const Descriptor* array, Levels... levels) {
  return array == nullptr ? 0 : array_bytes(*array, levels...);
}

}  // namespace

std::uint64_t cuMemAlloc(CUdeviceptr_v1*, unsigned int bytesize) noexcept { return bytesize; }
std::uint64_t cuMemAllocPitch(CUdeviceptr_v1*, unsigned int*, unsigned int WidthInBytes,
                              unsigned int Height, unsigned int) noexcept {
  return area(WidthInBytes, Height);
}
std::uint64_t cuMemAllocPitch_v2(CUdeviceptr*, std::size_t*, std::size_t WidthInBytes,
                                 std::size_t Height, unsigned int) noexcept {
  return area(WidthInBytes, Height);
}
std::uint64_t cuMemAllocManaged(CUdeviceptr*, std::size_t bytesize, unsigned int) noexcept {
  return bytesize;
}
std::uint64_t cuArrayCreate(CUarray*, const CUDA_ARRAY_DESCRIPTOR_v1* array) noexcept {
  return size_of(array);
}
std::uint64_t cuArrayCreate_v2(CUarray*, const CUDA_ARRAY_DESCRIPTOR* array) noexcept {
  return size_of(array);
}
std::uint64_t cuArray3DCreate(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR_v1* array) noexcept {
  return size_of(array);
}
std::uint64_t cuArray3DCreate_v2(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR* array) noexcept {
  return size_of(array);
}
std::uint64_t cuMipmappedArrayCreate(CUmipmappedArray*, const CUDA_ARRAY3D_DESCRIPTOR* array,
                                     unsigned int levels) noexcept {
  return size_of(array, levels);
}

}  // namespace planned

namespace routes {
namespace {

// Returns a device's total, cut to its capacity.
template <class Number>
CUresult total_memory(Call& call, const DirectCall& direct, Number* bytes, CUdevice device) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || bytes == nullptr) return code;
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return code;
  const DeviceCapacity capacity =
      call.profiler().allocator().capacity(static_cast<std::uint16_t>(device));
  *bytes = static_cast<Number>(std::min<std::uint64_t>(*bytes, capacity.limit));
  return code;
}

}  // namespace

CUresult cuDeviceTotalMem(Call& call, const DirectCall& direct, unsigned int* bytes,
                          CUdevice dev) noexcept {
  return total_memory(call, direct, bytes, dev);
}
CUresult cuDeviceTotalMem_v2(Call& call, const DirectCall& direct, std::size_t* bytes,
                             CUdevice dev) noexcept {
  return total_memory(call, direct, bytes, dev);
}

}  // namespace routes

}  // namespace vramscope
