// Device watches follow every change of a device's memory, for as long as there are any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocator/base/device_watch.h"

namespace vramscope {

// A watch in the list of those that are open. Its owner keeps it in place until it is removed.
struct OpenWatch : DeviceWatch {
  OpenWatch* next = nullptr;
};

// Threads: one at a time.
class DeviceWatches {
 public:
  [[nodiscard]] bool any() const { return first_ != nullptr; }
  // `live_bytes`: what the device holds now. `newest`: the number of the newest allocation.
  void add(OpenWatch& watch, std::uint64_t live_bytes, std::uint64_t newest) noexcept {
    watch.since = newest;
    watch.live_bytes = watch.peak_bytes = live_bytes;
    watch.next = first_;
    first_ = &watch;
  }
  void remove(const OpenWatch& watch) noexcept {
    OpenWatch** link = &first_;
    while (*link != &watch) link = &(*link)->next;
    *link = watch.next;
  }

  void came(Place where, Tag tag, std::uint64_t bytes) noexcept {
    each(where, [&](OpenWatch& watch) {
      watch.peak_bytes = std::max(watch.peak_bytes, watch.live_bytes += bytes);
      if ((watch.new_bytes += bytes) <= watch.new_peak_bytes) return;
      watch.new_peak_bytes = watch.new_bytes;
      watch.new_peak_tag = tag;
    });
  }
  // The program gave up the allocation numbered `serial`.
  void given_up(Place where, std::uint64_t bytes, std::uint64_t serial) noexcept {
    each(where, [&](OpenWatch& watch) {
      if (serial > watch.since) watch.new_bytes -= std::min(bytes, watch.new_bytes);
    });
  }
  // Nothing uses the memory any more. Where it vanished with its context, nobody has said whether
  // it was new.
  void went(Place where, std::uint64_t bytes) noexcept {
    each(where, [&](OpenWatch& watch) {
      watch.live_bytes -= std::min(bytes, watch.live_bytes);
      watch.new_bytes = std::min(watch.new_bytes, watch.live_bytes);
    });
  }

 private:
  template <class F>
  void each(Place where, F f) noexcept {
    for (OpenWatch* watch = first_; watch != nullptr; watch = watch->next) {
      if (watch->covers(where)) f(*watch);
    }
  }

  OpenWatch* first_ = nullptr;
};

}  // namespace vramscope
