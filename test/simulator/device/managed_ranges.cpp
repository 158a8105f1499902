// A map of the places where the advice changes.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/managed_ranges.h"

#include <iterator>

#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

namespace {

Address first_page(Address start) { return start / kHostPage * kHostPage; }
Address end_page(Address start, std::uint64_t bytes) { return round_up(start + bytes, kHostPage); }
}  // namespace

void ManagedRanges::change(Address start, std::uint64_t bytes,
                           const std::function<void(Advice&)>& how) {
  const std::lock_guard lock(mutex_);
  split(first_page(start));
  split(end_page(start, bytes));
  const auto end = from_.find(end_page(start, bytes));
  for (auto piece = from_.find(first_page(start)); piece != end; ++piece) how(piece->second);
}

void ManagedRanges::look(Address start, std::uint64_t bytes,
                         const std::function<void(const Advice&)>& at) const {
  const std::lock_guard lock(mutex_);
  auto piece = std::prev(from_.upper_bound(first_page(start)));
  for (; piece != from_.end() && piece->first < end_page(start, bytes); ++piece) at(piece->second);
}

void ManagedRanges::forget(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  split(first_page(start));
  split(end_page(start, bytes));
  const auto first = from_.find(first_page(start));
  first->second = {};
  from_.erase(std::next(first), from_.find(end_page(start, bytes)));
}

void ManagedRanges::split(Address at) {
  const auto piece = std::prev(from_.upper_bound(at));
  if (piece->first != at) from_.emplace(at, piece->second);
}

ManagedRanges& managed_ranges() {
  static auto& all = *new ManagedRanges;
  return all;
}

}  // namespace vramscope::simulator
