// Numbers streams.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stream_table.h"

#include "reporter/record/facts.h"

namespace vramscope {

StreamTable::StreamTable() { streams_.emplace_back(); }  // number 0: no stream

std::uint32_t StreamTable::number_of(std::uint64_t handle) noexcept {
  const SystemLock guard(lock_);
  const auto known = numbers_.find(handle);
  if (known != numbers_.end()) return known->second;
  if (streams_.size() > kMax) return kOtherValue;
  const auto number = static_cast<std::uint32_t>(streams_.size());
  try {
    streams_.push_back({handle});
    numbers_.emplace(handle, number);
  } catch (...) {  // no memory for it: one of the others
    return kOtherValue;
  }
  return number;
}

void StreamTable::forget(std::uint64_t handle) noexcept {
  const SystemLock guard(lock_);
  numbers_.erase(handle);
}

std::vector<StreamFact> StreamTable::facts(std::size_t known) const {
  const SystemLock guard(lock_);
  return rows_from(streams_, known);
}

}  // namespace vramscope
