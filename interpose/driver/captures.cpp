// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/captures.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "allocator/base/fault.h"
#include "interpose/loader/real.h"

namespace vramscope {

Captures::Key Captures::key(CUstream stream, bool per_thread) noexcept {
  Key key{.stream = stream};
  const bool is_default = stream == nullptr || stream == CU_STREAM_LEGACY;
  if (stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread)) {
    key.stream = CU_STREAM_PER_THREAD;
    key.thread = fault(Fault::shared_capture_key) ? -1 : gettid();
  } else if (!is_default) {
    real().cuStreamGetCtx(stream, &key.context);
    return key;
  }
  real().cuCtxGetCurrent(&key.context);
  return key;
}

CUgraph Captures::graph_of(CUstream stream, bool per_thread) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const Real& driver = real();
  const auto ask =
      per_thread ? driver.cuStreamGetCaptureInfo_v2_ptsz : driver.cuStreamGetCaptureInfo_v2;
  const CUresult code = ask(stream, &status, &id, &graph, nullptr, nullptr);
  const bool is_open = code == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return is_open ? graph : nullptr;
}

Captures::Number Captures::begins(const Key& key, CUstreamCaptureMode mode) noexcept {
  if (fault(Fault::capture_ignored)) return none;
  const SystemLock lock(mutex_);
  Number number = newest_ + 1;
  bool is_strict = mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  try {
    open_.push_back({.key = key, .number = number, .is_strict = is_strict});
    newest_ = number;
  } catch (const std::bad_alloc&) {
    // It is still counted, because waiting too little is safe and waiting in a capture is not. If
    // it begins, the count stays above zero and frees stay pending.
    number = kUnlisted;
    is_strict = true;
  }
  if (is_strict) strict_.fetch_add(1, std::memory_order_seq_cst);
  count_.fetch_add(1, std::memory_order_seq_cst);
  return number;
}

void Captures::began(Number capture, CUgraph graph) noexcept {
  const SystemLock lock(mutex_);
  const auto it = std::ranges::find(open_, capture, &Open::number);
  if (it == open_.end()) return;
  it->graph = graph;
  it->has_begun = true;
}

// Another thread can end a capture that is still beginning only after the driver has begun it.
Captures::Number Captures::find(const Key& key) noexcept {
  const SystemLock lock(mutex_);
  Number found = none;
  bool has_begun = false;
  for (const Open& one : open_) {
    if (!(one.key == key) || (has_begun && !one.has_begun)) continue;
    found = one.number;
    has_begun = one.has_begun;
  }
  return found;
}

CUgraph Captures::graph_of(Number capture) noexcept {
  const SystemLock lock(mutex_);
  const auto it = std::ranges::find(open_, capture, &Open::number);
  return it != open_.end() ? it->graph : nullptr;
}

void Captures::ended(Number capture) noexcept {
  const SystemLock lock(mutex_);
  std::size_t gone = capture == kUnlisted ? 1 : 0;
  std::size_t strict_gone = gone;
  const auto same = [&](const Open& one) { return one.number == capture; };
  Key shared;
  if (const auto it = std::ranges::find_if(open_, same); it != open_.end()) shared = it->key;
  gone += std::erase_if(open_, [&](const Open& one) {
    const bool is_gone = same(one) || (fault(Fault::shared_capture_key) && one.key == shared);
    strict_gone += is_gone && one.is_strict ? 1 : 0;
    return is_gone;
  });
  strict_.fetch_sub(strict_gone, std::memory_order_release);
  count_.fetch_sub(gone, std::memory_order_release);
}

}  // namespace vramscope
