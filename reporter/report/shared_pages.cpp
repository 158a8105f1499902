// Counts pages in the order of addresses, so that none must be kept.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/shared_pages.h"

#include <algorithm>

#include "allocator/base/snapshot.h"

namespace vramscope {

void SharedPages::add(Address address, std::uint64_t bytes) {
  if (bytes == 0) return;
  bytes_ += bytes;
  const std::uint64_t first = std::max(address / kDriverPage, next_);
  const std::uint64_t end = (address + bytes - 1) / kDriverPage + 1;
  if (end <= first) return;
  pages_ += end - first;
  next_ = end;
}

std::uint64_t SharedPages::gaps() const {
  const std::uint64_t tight = bytes_ + rest_of_pages(bytes_);
  return bytes() - std::min(bytes(), tight);
}

std::uint64_t gaps_on(const Snapshot& memory, std::uint16_t device) {
  SharedPages shared;
  for (const SegmentSnapshot& segment : memory.segments) {
    const bool is_there = segment.place.kind == Kind::device && segment.place.device == device;
    const bool is_packed = pages_of(Kind::device, segment.total_size) == Pages::shared;
    if (is_there && is_packed) shared.add(segment.address, segment.total_size);
  }
  return shared.gaps();
}

}  // namespace vramscope
