// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/live_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "allocator/ground/kept_errno.h"

namespace vramscope {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kObjectsStep = std::size_t{64} << 10;

// Where nobody has mapped anything: programs, libraries and heaps lie above, what sanitizers and
// drivers reserve below. Several are tried.
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kFirstBase = 0x5600'0000'0000;  // it ends a program that maps elsewhere
#else
constexpr std::uint64_t kFirstBase = 0x3a00'0000'0000;
#endif
constexpr std::uint64_t kBaseStep = 0x0020'0000'0000;
constexpr int kBases = 16;
static_assert(kLiveParts * kLivePartBytes < kBaseStep);

// SIGXFSZ would end the program: what is beyond the limit is not asked for.
bool is_within_file_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

void* map_at(std::uint64_t address, std::size_t bytes, int flags, int file,
             std::uint64_t offset) noexcept {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, file,
                         static_cast<off_t>(offset));
  if (got == wanted) return got;
  if (got != MAP_FAILED) munmap(got, bytes);  // a system older than the flag
  return nullptr;
}

}  // namespace

// The part's pages from `bytes` to `wanted` are reserved in the file and mapped. 0, or errno.
int LiveMemory::map(int file, LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  const std::uint64_t offset = address_of(part) - base_ + bytes;
  const std::size_t more = wanted - bytes;
  if (!is_within_file_limit(offset + more)) return EFBIG;
  int refused = 0;
  do {
    refused = fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(more));
  } while (refused != 0 && errno == EINTR);
  if (refused != 0) return errno;
  void* const pages = map_at(address_of(part) + bytes, more, MAP_SHARED, file, offset);
  if (pages == nullptr) return ENOMEM;
  madvise(pages, more, MADV_DONTDUMP);
  return madvise(pages, more, MADV_DONTFORK) == 0 ? 0 : (munmap(pages, more), errno);
}

int LiveMemory::begin(int file, const char* path) noexcept {
  const KeptErrno kept;
  struct stat found {};
  if (std::strlen(path) >= path_.size()) return ENAMETOOLONG;
  if (fstat(file, &found) != 0) return errno;
  device_ = found.st_dev;
  number_ = found.st_ino;
  std::strcpy(path_.data(), path);
  int problem = ENOMEM;
  for (int i = 0; i < kBases && problem == ENOMEM; ++i) {
    base_ = kFirstBase + static_cast<std::uint64_t>(i) * kBaseStep;
    problem = map(file, LivePart::header, 0, kPage);
  }
  if (problem != 0) return problem;
  header_ = new (reinterpret_cast<void*>(base_)) LiveHeader;
  header_->format = LiveHeader::kFormat;
  header_->parts = kLiveParts;
  header_->base = base_;
  header_->bytes[0].store(kPage, std::memory_order_relaxed);
  return 0;
}

// Whether the file that the path leads to is still ours; the program may have closed any
// descriptor, so none is kept.
int LiveMemory::reserve(LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  const int file = open(path_.data(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
  if (file < 0) return errno;
  struct stat found {};
  int problem = fstat(file, &found) != 0 ? errno : 0;
  if (problem == 0 && (found.st_dev != device_ || found.st_ino != number_)) problem = ESTALE;
  if (problem == 0) problem = map(file, part, bytes, wanted);
  close(file);
  return problem;
}

void LiveMemory::remove_file() const noexcept {
  const KeptErrno kept;
  struct stat found {};
  if (header_ == nullptr || lstat(path_.data(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == number_) unlink(path_.data());
}

void* LiveMemory::grow(LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  const KeptErrno kept;
  void* const first = reinterpret_cast<void*>(address_of(part));
  if (wanted > kLivePartBytes) return nullptr;
  const auto index = static_cast<std::size_t>(part);
  if (header_->problem.load(std::memory_order_relaxed) == 0) {
    const int problem = reserve(part, bytes, wanted);
    if (problem == 0) {
      header_->bytes[index].store(wanted, std::memory_order_release);
      header_->extent[index].store(wanted, std::memory_order_release);
      return first;
    }
    header_->problem.store(static_cast<std::uint32_t>(problem), std::memory_order_relaxed);
  }
  constexpr int kOfSystem = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (map_at(address_of(part) + bytes, wanted - bytes, kOfSystem, -1, 0) == nullptr) return nullptr;
  header_->extent[index].store(wanted, std::memory_order_release);
  return first;
}

void* LiveMemory::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const SystemLock lock(objects_lock_);
  const std::size_t begin = (objects_used_ + alignment - 1) & ~(alignment - 1);
  const std::size_t end = begin + bytes;
  if (end > object_bytes_) {
    const std::size_t wanted = (end + kObjectsStep - 1) & ~(kObjectsStep - 1);
    if (grow(LivePart::objects, object_bytes_, wanted) == nullptr) return nullptr;
    object_bytes_ = wanted;
  }
  objects_used_ = end;
  return reinterpret_cast<void*>(address_of(LivePart::objects) + begin);
}

}  // namespace vramscope
