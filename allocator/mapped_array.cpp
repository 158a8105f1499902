// Pages from the system for mapped arrays.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/mapped_array.h"

#include <sys/mman.h>

namespace vramscope {

void* map_pages(std::size_t bytes) noexcept {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

// mremap moves page tables, not bytes: growing 64 MiB holds the lock for microseconds.
void* grow_pages(void* pages, std::size_t bytes, std::size_t wanted) noexcept {
  void* grown = mremap(pages, bytes, wanted, MREMAP_MAYMOVE);
  return grown == MAP_FAILED ? nullptr : grown;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept { munmap(pages, bytes); }

void discard_pages(void* pages, std::size_t bytes) noexcept {
  madvise(pages, bytes, MADV_DONTNEED);
}

}  // namespace vramscope
