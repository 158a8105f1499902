// What the driver takes of a device besides the bytes that were asked for: it gives memory out in
// pages of its own, and what it rounds up belongs to whoever asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

// Seen on every GPU since Pascal: free memory changes in steps of 2 MiB, allocations above 1 MiB
// have pages of their own, others share some; pools and graphs take pages for all they hold.
inline constexpr std::uint64_t kDriverPage = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kMostInSharedPages = std::uint64_t{1} << 20;

// What whole pages hold more than `bytes`; any number below 2^63.
[[nodiscard]] constexpr std::uint64_t rest_of_pages(std::uint64_t bytes) {
  return (kDriverPage - bytes % kDriverPage) % kDriverPage;
}

enum class Pages : std::uint8_t { unknown, own, shared };

// How an allocation of so many bytes lies in pages. Unknown: of kinds that need not be on the
// device, come in pages anyway, or are no memory.
[[nodiscard]] constexpr Pages pages_of(Kind kind, std::uint64_t bytes) {
  switch (kind) {
    case Kind::device:
    case Kind::array:
      return bytes <= kMostInSharedPages ? Pages::shared : Pages::own;
    case Kind::stream_ordered:
    case Kind::graph:
      return Pages::shared;
    default:
      return Pages::unknown;
  }
}

// The rounding of everything that is allocated on one device. Threads: one at a time.
class PageRounding {
 public:
  void add(Kind kind, std::uint64_t bytes) {
    const Pages pages = pages_of(kind, bytes);
    if (pages == Pages::own) own_ += rest_of_pages(bytes);
    if (pages == Pages::shared) shared_[static_cast<std::size_t>(kind)] += bytes;
  }
  void remove(Kind kind, std::uint64_t bytes) {
    const Pages pages = pages_of(kind, bytes);
    if (pages == Pages::own) own_ -= rest_of_pages(bytes);
    if (pages == Pages::shared) shared_[static_cast<std::size_t>(kind)] -= bytes;
  }
  // All of a kind that always shares pages, with what the driver rounds up for it.
  [[nodiscard]] std::uint64_t in_shared_pages(Kind kind) const {
    const std::uint64_t bytes = shared_[static_cast<std::size_t>(kind)];
    return bytes + rest_of_pages(bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t all = own_;
    for (const std::uint64_t shared : shared_) all += rest_of_pages(shared);
    return all;
  }

 private:
  std::uint64_t own_ = 0;                       // of those that have pages of their own
  std::array<std::uint64_t, kKinds> shared_{};  // bytes of those that share pages
};

}  // namespace vramscope
