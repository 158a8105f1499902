// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fork_mark.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace vramscope {

void ForkMark::set(void* value) noexcept {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, bytes);
    page = MAP_FAILED;
  }
  std::atomic<void*>* place = &kept_;
  if (page != MAP_FAILED) place = new (page) std::atomic<void*>(nullptr);
  place->store(value, std::memory_order_relaxed);
  place_.store(place, std::memory_order_release);
}

}  // namespace vramscope
