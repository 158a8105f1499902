// Pages from the system for mapped arrays.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/mapped_array.h"

#include <sys/mman.h>

namespace vramscope {

namespace {

// Without huge pages one lookup in four in a table of a million blocks waits for a page walk. The
// first touch of a huge page costs some 200 us, once for each 2 MiB.
constexpr std::size_t kHugeFrom = std::size_t{4} << 20;

void* prefer_huge(void* pages, std::size_t bytes) noexcept {
  if (pages == MAP_FAILED) return nullptr;
  if (bytes >= kHugeFrom) madvise(pages, bytes, MADV_HUGEPAGE);
  return pages;
}

}  // namespace

void* map_pages(std::size_t bytes) noexcept {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return prefer_huge(pages, bytes);
}

// mremap moves page tables, not bytes: growing 64 MiB holds the lock for microseconds.
void* grow_pages(void* pages, std::size_t bytes, std::size_t wanted) noexcept {
  return prefer_huge(mremap(pages, bytes, wanted, MREMAP_MAYMOVE), wanted);
}

void unmap_pages(void* pages, std::size_t bytes) noexcept { munmap(pages, bytes); }

void discard_pages(void* pages, std::size_t bytes) noexcept {
  madvise(pages, bytes, MADV_DONTNEED);
}

}  // namespace vramscope
