// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/captures.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "allocator/ground/fault.h"
#include "interpose/loader/real.h"

namespace vramscope {

Captures::Key Captures::key(CUstream stream, bool per_thread) noexcept {
  Key key{.stream = stream};
  const bool is_default = stream == nullptr || stream == CU_STREAM_LEGACY;
  if (stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread)) {
    key.stream = CU_STREAM_PER_THREAD;
    key.thread = gettid();
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

void Captures::began(const Key& key, CUgraph graph) noexcept {
  if (fault(Fault::capture_ignored)) return;
  const SystemLock lock(mutex_);
  try {
    open_.push_back({key, graph});
  } catch (const std::bad_alloc&) {
    // Counted all the same: waiting too little is safe, waiting in a capture is not. The count then
    // stays above zero and frees stay pending.
  }
  count_.fetch_add(1, std::memory_order_release);
}

CUgraph Captures::graph_of(const Key& key) noexcept {
  const SystemLock lock(mutex_);
  const auto it = std::ranges::find(open_, key, &Open::key);
  return it != open_.end() ? it->graph : nullptr;
}

void Captures::ended(const Key& key) noexcept {
  const SystemLock lock(mutex_);
  const std::size_t gone = std::erase_if(open_, [&](const Open& one) { return one.key == key; });
  count_.fetch_sub(gone, std::memory_order_release);
}

}  // namespace vramscope
