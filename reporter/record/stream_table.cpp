// Numbers streams.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stream_table.h"

#include <utility>

#include "reporter/base/facts.h"

namespace vramscope {

StreamTable::StreamTable() : changed_{1}, changes_(1), streams_(1) {}  // number 0: no stream

std::uint32_t StreamTable::number_of(std::uint64_t handle) noexcept {
  const SystemLock guard(lock_);
  const auto known = numbers_.find(handle);
  if (known != numbers_.end()) return known->second;
  if (streams_.size() > kMax) return kOtherValue;
  const auto number = static_cast<std::uint32_t>(streams_.size());
  try {
    const auto name = names_.find(handle);
    streams_.reserve(streams_.size() + 1);
    changed_.reserve(changed_.size() + 1);
    StreamFact stream{.handle = handle, .name = name == names_.end() ? "" : name->second};
    numbers_.emplace(handle, number);
    streams_.push_back(std::move(stream));
    changed_.push_back(++changes_);
  } catch (...) {  // no memory for it: the stream counts as one of the others
    return kOtherValue;
  }
  return number;
}

void StreamTable::name(std::uint64_t handle, const std::string& name) {
  const SystemLock guard(lock_);
  if (names_.size() < kMax || names_.contains(handle)) names_.insert_or_assign(handle, name);
  const auto known = numbers_.find(handle);
  if (known == numbers_.end()) return;
  streams_[known->second].name = name;
  changed_[known->second] = ++changes_;
}

void StreamTable::forget(std::uint64_t handle) noexcept {
  const SystemLock guard(lock_);
  numbers_.erase(handle);
  names_.erase(handle);
}

std::vector<StreamFact> StreamTable::facts() const {
  const SystemLock guard(lock_);
  return streams_;
}

Numbered<StreamFact> StreamTable::changed_since(std::uint64_t& changes) const {
  const SystemLock guard(lock_);
  return rows_changed_since(changes, changes_, streams_, changed_);
}

}  // namespace vramscope
