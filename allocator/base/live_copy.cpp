// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/live_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"

namespace vramscope {
namespace {

std::byte* part_of(const LiveHeader& header, std::size_t part) noexcept {
  return reinterpret_cast<std::byte*>(header.base + part * kLivePartBytes);
}

}  // namespace

// Memory outside the file is not shared, so the child has it anyway. At least one page of each part
// is mapped.
std::size_t LiveCopy::bytes_of(const LiveHeader& header, std::size_t part) noexcept {
  return std::max<std::size_t>(header.bytes[part].load(std::memory_order_acquire), kWholePage);
}

void LiveCopy::take(const LiveMemory& memory) noexcept {
  const KeptErrno kept;
  const LiveHeader* const header = memory.header();
  if (header == nullptr) return;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kLiveParts; ++i) bytes += sizes_[i] = bytes_of(*header, i);
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) return;
  pages_ = static_cast<std::byte*>(pages);
  bytes_ = bytes;
  for (std::size_t i = 0, at = 0; i < kLiveParts; at += sizes_[i++]) {
    std::memcpy(pages_ + at, part_of(*header, i), sizes_[i]);
  }
}

void LiveCopy::drop() noexcept {
  const KeptErrno kept;
  if (pages_ != nullptr) munmap(pages_, bytes_);
  pages_ = nullptr;
}

void LiveCopy::put(const LiveMemory& memory) noexcept {
  if (pages_ == nullptr) return;
  const KeptErrno kept;
  LiveHeader* const header = memory.header();
  const std::uint64_t base =
      reinterpret_cast<std::uintptr_t>(header);  // it cannot be read from memory yet
  for (std::size_t i = 0, at = 0; i < kLiveParts; at += sizes_[i++]) {
    mremap(pages_ + at, sizes_[i], sizes_[i], MREMAP_MAYMOVE | MREMAP_FIXED,
           reinterpret_cast<void*>(base + i * kLivePartBytes));
  }
  header->problem.store(ECHILD, std::memory_order_relaxed);  // memory is no longer in a file
  pages_ = nullptr;
}

}  // namespace vramscope
