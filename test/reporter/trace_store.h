// A trace's file in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "reporter/record/trace/lane.h"

namespace vramscope {

// Threads: any; `bytes` may be read when nobody writes.
class TraceStore : public ChunkSink {
 public:
  TraceStore() {
    const auto head = trace_head();
    bytes.assign(head.begin(), head.end());
  }
  bool write(std::span<const std::byte> head,
             std::span<const std::byte> content) noexcept override {
    const std::lock_guard lock(mutex_);
    full_ = full_ || bytes.size() + head.size() + content.size() > room;
    if (full_) return false;
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), content.begin(), content.end());
    return true;
  }

  std::vector<std::byte> bytes;
  std::size_t room = ~std::size_t{0};

 private:
  std::mutex mutex_;
  bool full_ = false;
};

}  // namespace vramscope
