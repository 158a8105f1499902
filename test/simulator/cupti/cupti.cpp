// A pretended CUPTI over the simulated driver: memory records only, from a thread of its own.
// SPDX-License-Identifier: Apache-2.0
//
// PRETENDED_CUPTI, words apart by commas, makes it misbehave: taken (another tool has it),
// disabled (no records of memory), lost (each tenth allocation), grown (each tenth one byte more),
// foreign (memory that no call of the program's asked for), small (buffers of one record).
#include <cupti_activity.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "allocator/base/place.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using vramscope::Kind;

constexpr const char* kSource = "/opt/app/libsource.so";
constexpr std::uint64_t kForeignAddress = 0x12340000, kForeignBytes = 77777;

std::atomic<bool> subscribed{false}, memory_enabled{false}, pools_enabled{false}, sources{false};
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::mutex mutex;
std::deque<CUpti_ActivityMemory4> records;  // not handed over yet
std::uint64_t allocations = 0;

bool misbehaves(const char* word) {
  const char* all = std::getenv("PRETENDED_CUPTI");
  return all != nullptr && std::strstr(all, word) != nullptr;
}

CUpti_ActivityMemoryKind kind_of(Kind kind) {
  if (kind == Kind::pinned) return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  if (kind == Kind::managed) return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
}

CUpti_ActivityMemory4 record_of(bool came, Kind kind, int device, std::uint64_t address,
                                std::uint64_t bytes) {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = came ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                    : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = kind_of(kind);
  record.isAsync = kind == Kind::stream_ordered ? 1 : 0;
  record.deviceId = static_cast<std::uint32_t>(device);
  record.address = address;
  record.bytes = bytes;
  record.source = sources ? kSource : nullptr;
  return record;
}

void watch(int came, int kind, int device, std::uint64_t address, std::uint64_t bytes) {
  if (!memory_enabled || static_cast<Kind>(kind) == Kind::registered) return;
  const std::lock_guard lock(mutex);
  const bool is_tenth = came != 0 && ++allocations % 10 == 0;
  if (is_tenth && misbehaves("lost")) return;
  if (is_tenth && misbehaves("grown")) ++bytes;
  records.push_back(record_of(came != 0, static_cast<Kind>(kind), device, address, bytes));
}

// One buffer; true while there is more.
bool hand_over() {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  request(&buffer, &size, &most);
  std::size_t fits = size / sizeof(CUpti_ActivityMemory4);
  if (misbehaves("small") && fits > 1) fits = 1;
  std::unique_lock lock(mutex);
  const std::size_t count = std::min(fits, records.size());
  if (buffer != nullptr && count != 0) {
    const auto end = records.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(records.begin(), end, reinterpret_cast<CUpti_ActivityMemory4*>(buffer));
    records.erase(records.begin(), end);
  }
  const bool more = count != 0 && !records.empty();
  lock.unlock();
  complete(nullptr, 0, buffer, size, count * sizeof(CUpti_ActivityMemory4));
  return more;
}

}  // namespace

// That it is this one.
EXPORT const int vramscope_pretended_cupti = 1;

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc,
                                           void*) {
  if (misbehaves("taken") || subscribed.exchange(true)) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  *subscriber = nullptr;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(std::uint8_t enable) {
  sources = enable != 0;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind != CUPTI_ACTIVITY_KIND_MEMORY2 || misbehaves("disabled")) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, "vramscope_simulated_watch");
  if (found == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  reinterpret_cast<void (*)(void (*)(int, int, int, std::uint64_t, std::uint64_t))>(found)(watch);
  if (misbehaves("foreign")) {
    const std::lock_guard lock(mutex);
    records.push_back(record_of(true, Kind::device, 0, kForeignAddress, kForeignBytes));
  }
  memory_enabled = true;
  return CUPTI_SUCCESS;
}

// Buffers come from a thread of CUPTI's own.
EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
  std::thread([] {
    while (hand_over()) {
    }
  }).join();
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                                       CUpti_Activity** record) {
  auto* next = *record == nullptr ? reinterpret_cast<CUpti_ActivityMemory4*>(buffer)
                                  : reinterpret_cast<CUpti_ActivityMemory4*>(*record) + 1;
  if (reinterpret_cast<std::uint8_t*>(next + 1) > buffer + valid) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult code, const char** text) {
  *text = code == CUPTI_ERROR_INVALID_KIND ? "CUPTI_ERROR_INVALID_KIND" : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}
