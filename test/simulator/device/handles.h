// Handles is the set of live handles of one type: it makes a stale or foreign handle an error, not
// a crash.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vramscope::simulator {

// A handle is the object's address. Removal ends the handle; the object lives on for code that
// still holds it. Threads: any.
template <class Object>
class Handles {
 public:
  Object* add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    Object* handle = object.get();
    live_.emplace(handle, std::move(object));
    return handle;
  }

  [[nodiscard]] std::shared_ptr<Object> find(Object* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Object> remove(Object* handle) {
    const std::lock_guard lock(mutex_);
    auto node = live_.extract(handle);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  template <class Chosen>
  void remove_if(Chosen chosen) {
    const std::lock_guard lock(mutex_);
    std::erase_if(live_, [&](const auto& entry) { return chosen(*entry.second); });
  }

  [[nodiscard]] std::vector<std::shared_ptr<Object>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> objects;
    for (const auto& entry : live_) objects.push_back(entry.second);
    return objects;
  }

 private:
  mutable std::mutex mutex_;  // guards live_
  std::unordered_map<Object*, std::shared_ptr<Object>> live_;
};

}  // namespace vramscope::simulator
