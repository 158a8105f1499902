// Implements the functions of vramscope.h.
// SPDX-License-Identifier: Apache-2.0
#define VRAMSCOPE_IMPLEMENTATION
#include "interpose/face/vramscope.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "allocator/base/snapshot.h"
#include "interpose/base/guard.h"
#include "interpose/driver/profiler.h"
#include "interpose/face/result.h"
#include "interpose/loader/real.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/nvtx.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

// An ELF note with the version, which the command line tool reads without loading the library.
struct VersionNote {
  ElfW(Nhdr) head;
  alignas(4) char owner[12];
  alignas(4) char version[(sizeof VRAMSCOPE_VERSION + 3) / 4 * 4];
};
[[gnu::used, gnu::aligned(4), gnu::section(".note.vramscope")]] constexpr VersionNote version_note{
    {sizeof "vramscope", sizeof VRAMSCOPE_VERSION, 1}, "vramscope", VRAMSCOPE_VERSION};

// Runs body(profiler) and converts our failures to result codes.
template <class Body>
int with_profiler(Body body) noexcept {
  Profiler* const profiler = Profiler::active();
  if (profiler == nullptr) return VRAMSCOPE_NOT_ACTIVE;
  return with_codes([&] { return body(*profiler); });
}

// Runs body(profiler, ordinal) for a device that exists.
template <class Body>
int with_device(int device, Body body) noexcept {
  return with_profiler([&](Profiler& profiler) -> int {
    const std::optional<std::uint16_t> ordinal = find_device(device);
    return ordinal ? body(profiler, *ordinal) : int{VRAMSCOPE_BAD_DEVICE};
  });
}

FlatStats device_stats(Profiler& profiler, std::uint16_t device) {
  const CallGuard guard;
  DeviceReport report;
  report.used = profiler.allocator().read_statistics(device, report.statistics);
  return memory_stats(report);
}

FlatStats host_stats(Profiler& profiler) {
  const CallGuard guard;
  HostReport report;
  report.used = profiler.allocator().read_host_statistics(report.statistics);
  report.timing = profiler.recorder().host_timing();
  return memory_stats(report);
}

Snapshot take_snapshot(Profiler& profiler) {
  const CallGuard guard;
  return profiler.allocator().snapshot();
}

int find_stat(const FlatStats& stats, std::string_view key, std::int64_t& value) {
  for (const auto& [name, number] : stats) {
    if (name != key) continue;
    value = number;
    return VRAMSCOPE_OK;
  }
  return VRAMSCOPE_BAD_KEY;
}

void hand_out(const FlatStats& stats, vramscope_each_counter each, void* context) {
  for (const auto& [key, value] : stats) each(key.c_str(), value, context);
}

// Calls our wrapper of a driver function in the thread's context or in another one that the program
// has used on the device. Returns INVALID_CONTEXT if there is none.
template <class Ask>
CUresult ask_in_context_of(Profiler& profiler, CUdevice device, Ask ask) {
  const Contexts::Current current = profiler.contexts().current();
  if (current.code == CUDA_SUCCESS && CUdevice{current.place.device} == device) return ask();
  CUresult code = CUDA_ERROR_INVALID_CONTEXT;
  const auto index = static_cast<std::uint16_t>(device);
  profiler.contexts().each_on(index, [&](CUcontext, Contexts::Generation one) {
    if (code != CUDA_ERROR_INVALID_CONTEXT) return;
    const ContextScope scope(profiler.contexts(), one);
    if (scope.code() == CUDA_SUCCESS) code = ask();
  });
  return code;
}

void hand_out(const Snapshot& snapshot, vramscope_each_segment each, void* context) {
  std::vector<vramscope_block> blocks;
  for (const SegmentSnapshot& segment : snapshot.segments) {
    if (segment.place.kind != Kind::device) continue;
    blocks.clear();
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const BlockSnapshot& block = snapshot.blocks[segment.first_block + i];
      const auto state = static_cast<std::size_t>(block.state);
      blocks.push_back(
          {block.address, block.size, block.requested_size, kBlockStateNames[state].data()});
    }
    const vramscope_segment handed_out = {.device = segment.place.device,
                                          .context = segment.place.context,
                                          .is_small = segment.is_small,
                                          .is_direct = segment.is_direct,
                                          .address = segment.address,
                                          .total_size = segment.total_size,
                                          .allocated_size = segment.allocated_size,
                                          .active_size = segment.active_size,
                                          .requested_size = segment.requested_size,
                                          .blocks = blocks.data(),
                                          .block_count = blocks.size(),
                                          .is_expandable = segment.is_expandable};
    each(&handed_out, context);
  }
}

int answer(CUresult code) {
  if (code == CUDA_SUCCESS) return VRAMSCOPE_OK;
  return code == CUDA_ERROR_INVALID_CONTEXT ? VRAMSCOPE_NO_CONTEXT : VRAMSCOPE_DRIVER_ERROR;
}

// Returns the depth from body(ranges). Ranges exist before CUDA starts, because programs open
// ranges around their whole work there.
template <class Body>
int with_ranges(int* depth, Body body) noexcept {
  if (switched_off()) return VRAMSCOPE_NOT_ACTIVE;
  return with_codes([&]() -> int {
    const CallGuard guard;
    RangeTable* const named = ranges_or_make();
    if (named == nullptr) return VRAMSCOPE_NOT_ACTIVE;
    const int at = body(*named);
    if (depth != nullptr) *depth = at;
    return VRAMSCOPE_OK;
  });
}

bool has_context() {
  CUcontext context = nullptr;
  return real().cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr;
}

}  // namespace
}  // namespace vramscope

using namespace vramscope;

extern "C" {

int vramscope_v1_is_active(void) { return Profiler::active() != nullptr; }

int vramscope_v1_memory_stats(int device, vramscope_each_counter each, void* context) {
  return with_device(device, [&](Profiler& profiler, std::uint16_t ordinal) {
    hand_out(device_stats(profiler, ordinal), each, context);
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_memory_stat(int device, const char* key, int64_t* value) {
  return with_device(device, [&](Profiler& profiler, std::uint16_t ordinal) {
    const FlatStats stats = device_stats(profiler, ordinal);  // empty before the first use
    if (!stats.empty()) return find_stat(stats, key, *value);
    DeviceReport unused;
    unused.used = true;
    return find_stat(memory_stats(unused), key, *value);
  });
}

int vramscope_v1_host_memory_stats(vramscope_each_counter each, void* context) {
  return with_profiler([&](Profiler& profiler) {
    hand_out(host_stats(profiler), each, context);
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_reset_peak_memory_stats(int device) {
  return with_device(device, [](Profiler& profiler, std::uint16_t ordinal) {
    const CallGuard guard;
    reset_peaks(profiler, ordinal);
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_reset_accumulated_memory_stats(int device) {
  return with_device(device, [](Profiler& profiler, std::uint16_t ordinal) {
    const CallGuard guard;
    reset_accumulated(profiler, ordinal);
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_reset_accumulated_host_memory_stats(void) {
  return with_profiler([](Profiler& profiler) {
    const CallGuard guard;
    profiler.allocator().reset_host_accumulated();
    profiler.recorder().reset_host_accumulated();
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_empty_cache(void) {
  return with_profiler([](Profiler& profiler) {
    if (!has_context()) return VRAMSCOPE_NO_CONTEXT;
    const CallGuard guard;
    profiler.allocator().trim();
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_get_memory_info(int device, uint64_t* free_bytes, uint64_t* total_bytes) {
  return with_device(device, [&](Profiler& profiler, std::uint16_t ordinal) -> int {
    CUdevice current = 0;
    if (real().cuCtxGetDevice(&current) != CUDA_SUCCESS) return VRAMSCOPE_NO_CONTEXT;
    std::size_t free = 0, total = 0;
    const CUresult code =
        ask_in_context_of(profiler, ordinal, [&] { return ::cuMemGetInfo_v2(&free, &total); });
    if (code != CUDA_SUCCESS) return answer(code);
    *free_bytes = free;
    *total_bytes = total;
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_memory_snapshot(vramscope_each_segment each, void* context) {
  return with_profiler([&](Profiler& profiler) {
    hand_out(take_snapshot(profiler), each, context);
    return VRAMSCOPE_OK;
  });
}

// Exported memory is never reused; a trim gives back what could not go back at its free.
int vramscope_v1_ipc_collect(void) { return vramscope_v1_empty_cache(); }

int vramscope_v1_device_count(int* count) {
  return with_profiler([&](Profiler&) { return answer(real().cuDeviceGetCount(count)); });
}

int vramscope_v1_current_device(int* device) {
  return with_device(VRAMSCOPE_CURRENT_DEVICE, [&](Profiler&, std::uint16_t ordinal) {
    *device = ordinal;
    return VRAMSCOPE_OK;
  });
}

int vramscope_v1_get_device_name(int device, char* name, size_t bytes) {
  return with_device(device, [&](Profiler&, std::uint16_t ordinal) {
    std::array<char, 256> whole{};
    const CUresult code = real().cuDeviceGetName(whole.data(), int{whole.size()}, ordinal);
    if (code != CUDA_SUCCESS || bytes == 0) return answer(code);
    const std::size_t length = std::min(std::strlen(whole.data()), bytes - 1);
    std::memcpy(name, whole.data(), length);
    name[length] = '\0';
    return int{VRAMSCOPE_OK};
  });
}

int vramscope_v1_get_device_capability(int device, int* major, int* minor) {
  return with_device(device, [&](Profiler&, std::uint16_t ordinal) {
    int of_major = 0, of_minor = 0;
    CUresult code = real().cuDeviceGetAttribute(
        &of_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
    if (code == CUDA_SUCCESS) {
      code = real().cuDeviceGetAttribute(&of_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                         ordinal);
    }
    if (code != CUDA_SUCCESS) return answer(code);
    *major = of_major;
    *minor = of_minor;
    return int{VRAMSCOPE_OK};
  });
}

int vramscope_v1_synchronize(int device) {
  return with_device(device, [](Profiler& profiler, std::uint16_t ordinal) {
    return answer(ask_in_context_of(profiler, ordinal, [] { return ::cuCtxSynchronize(); }));
  });
}

int vramscope_v1_mark(const char* message) {
  return with_ranges(nullptr, [&](RangeTable& named) {
    named.mark(now_ns(), "", message);
    return 0;
  });
}

int vramscope_v1_range_push(const char* message, int* depth) {
  return with_ranges(depth, [&](RangeTable& named) { return named.push("", message); });
}

int vramscope_v1_range_pop(int* depth) {
  return with_ranges(depth, [](RangeTable& named) { return named.pop(""); });
}

}  // extern "C"
