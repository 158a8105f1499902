// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/live_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"
#include "allocator/base/standard_files.h"
#include "allocator/base/uncancelled.h"

// Functions of a sanitizer's runtime, if one is loaded.
extern "C" {
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t bytes);
[[gnu::weak]] void __tsan_init();
}

namespace vramscope {
namespace {

constexpr std::size_t kObjectsStep = std::size_t{64} << 10;

// The addresses for the first part. Several are tried, because some may be in use.
struct Bases {
  std::uint64_t lowest;
  int count;
};
constexpr std::uint64_t kBaseStep = 0x0020'0000'0000;
// Nobody else maps memory here: programs, libraries and heaps lie above, the reservations of
// sanitizers and drivers below.
constexpr Bases kUsualBases{.lowest = 0x3a00'0000'0000, .count = 16};
// The thread sanitizer ends a program that maps memory outside the addresses that it watches. It
// leaves 0x5500'0000'0000 to 0x5680'0000'0000 of these to programs without fixed addresses.
constexpr Bases kWatchedBases{.lowest = 0x5500'0000'0000, .count = 12};
static_assert(kLiveParts * kLivePartBytes < kBaseStep);
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

// Flags for pages outside the file.
constexpr int kOfSystem = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr std::uint64_t kFileBytes = kLiveParts * kLivePartBytes;

// Growth beyond the file size limit would raise SIGXFSZ, which ends the program.
bool is_within_file_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

// Others use the file system, so half of its space, or this much, stays free for them.
constexpr std::uint64_t kLeftToOthers = std::uint64_t{1} << 30;

bool leaves_room(const char* path, std::uint64_t bytes) noexcept {
  struct statvfs system {};
  if (statvfs(path, &system) != 0 || system.f_blocks == 0) return true;  // unknown or unlimited
  const std::uint64_t all = std::uint64_t{system.f_blocks} * system.f_frsize;
  const std::uint64_t free = std::uint64_t{system.f_bavail} * system.f_frsize;
  return free >= bytes + std::min(all / 2, kLeftToOthers);
}

void* map_at(std::uint64_t address, std::size_t bytes, int flags, int file,
             std::uint64_t offset) noexcept {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, file,
                         static_cast<off_t>(offset));
  if (got == wanted) return got;
  if (got != MAP_FAILED) munmap(got, bytes);  // the kernel does not know the flag
  return nullptr;
}

int allocate_in(int file, std::uint64_t offset, std::size_t bytes) noexcept {
  int refused = 0;
  do {
    refused = fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (refused != 0 && errno == EINTR);
  return refused == 0 ? 0 : errno;
}

const char* folder_of(const char* place) noexcept { return *place == '\0' ? "/" : place; }

}  // namespace

// Maps the first page of each part, for this process alone. Returns 0 or errno.
int LiveMemory::map_parts(int file) noexcept {
  for (std::size_t i = 0; i < kLiveParts; ++i) {
    void* const page =
        map_at(base_ + i * kLivePartBytes, kWholePage, MAP_SHARED, file, i * kLivePartBytes);
    int problem = page == nullptr ? ENOMEM : 0;
    if (problem == 0 && madvise(page, kWholePage, MADV_DONTFORK) != 0) problem = errno;
    if (problem == 0) {
      madvise(page, kWholePage, MADV_DONTDUMP);
      continue;
    }
    if (page != nullptr) munmap(page, kWholePage);
    while (i-- > 0) munmap(reinterpret_cast<void*>(base_ + i * kLivePartBytes), kWholePage);
    return problem;
  }
  return 0;
}

void LiveMemory::keep_path(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  const std::size_t length = slash == nullptr ? 1 : static_cast<std::size_t>(slash - path);
  path_[0] = '.';
  if (slash != nullptr) std::memcpy(path_.data(), path, length);
  path_[length] = '\0';
  name_ = std::strcpy(path_.data() + length + 1, slash == nullptr ? path : slash + 1);
}

int LiveMemory::begin(int file, const char* path) noexcept {
  const KeptErrno kept;
  if (std::strlen(path) + 2 > path_.size()) return ENAMETOOLONG;
  own_ = identity_of(file);
  if (own_.inode == 0) return errno;
  if (!is_within_file_limit(kFileBytes)) return EFBIG;
  if (!leaves_room(path, kWholePage)) return ENOSPC;
  if (ftruncate(file, static_cast<off_t>(kFileBytes)) != 0) return errno;
  if (const int problem = allocate_in(file, 0, kWholePage); problem != 0) return problem;
  keep_path(path);
  const Bases bases = &__tsan_init != nullptr ? kWatchedBases : kUsualBases;
  int problem = ENOMEM;
  for (int i = 0; i < bases.count && problem == ENOMEM; ++i) {
    base_ = bases.lowest + static_cast<std::uint64_t>(i) * kBaseStep;
    problem = map_parts(file);
  }
  if (problem != 0) return problem;
  // A leak checker looks for pointers here as it does on the heap.
  void* const first = reinterpret_cast<void*>(base_);
  if (&__lsan_register_root_region != nullptr) __lsan_register_root_region(first, kFileBytes);
  header_ = new (reinterpret_cast<void*>(base_)) LiveHeader;
  header_->format = LiveHeader::kFormat;
  header_->parts = kLiveParts;
  header_->base = base_;
  header_->number = own_.inode;
  std::strncpy(header_->name.data(), name_, header_->name.size() - 1);
  header_->bytes[0].store(kWholePage, std::memory_order_relaxed);
  return 0;
}

// Before Linux 5.14 this opens the file, if the path still leads to it.
int LiveMemory::reserve_by_path(std::uint64_t offset, std::size_t bytes) const noexcept {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  const Uncancelled uncancelled;
  const StandardFilesTaken above_them;
  const int folder = open(folder_of(path_.data()), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const int file = openat(folder, name_, kFlags);
  const int refused = file < 0 ? errno : 0;
  close(folder);
  if (file < 0) return refused;
  const int problem = identity_of(file) == own_ ? allocate_in(file, offset, bytes) : ESTALE;
  close(file);
  return problem;
}

// Extends a part in memory and in the file. It needs no descriptor, because there may be none left,
// and no path, because the path may lead nowhere after chroot. Returns 0, or errno without a
// change.
int LiveMemory::extend(LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  void* const first = reinterpret_cast<void*>(address_of(part));
  void* const added = reinterpret_cast<void*>(address_of(part) + bytes);
  const std::size_t more = wanted - bytes;
  if (!is_within_file_limit(address_of(part) - base_ + wanted)) return EFBIG;
  if (!leaves_room(folder_of(path_.data()), more)) return ENOSPC;
  const std::size_t mapped = std::max(bytes, kWholePage);  // by begin()
  if (wanted > mapped && mremap(first, mapped, wanted, 0) == MAP_FAILED) return errno;
  int problem = 0;
  do {
    problem = madvise(added, more, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
  } while (problem == EINTR);
  if (problem == EINVAL) problem = reserve_by_path(address_of(part) - base_ + bytes, more);
  if (problem == EFAULT) problem = ENOSPC;  // touching it would have raised SIGBUS
  if (problem == 0) return 0;
  madvise(added, more, MADV_REMOVE);
  munmap(added, more);
  return problem;
}

void LiveMemory::finish(LiveState how) noexcept {
  const KeptErrno kept;
  const Uncancelled uncancelled;
  if (header_ == nullptr) return;
  header_->state.store(how, std::memory_order_release);
  if (remove_own_file(path_.data(), name_, own_)) has_name_ = false;
}

bool LiveMemory::revive() noexcept {
  const KeptErrno kept;
  if (header_ == nullptr || !has_name_) return false;
  header_->state.store(LiveState::needed, std::memory_order_release);
  return true;
}

// Called in a child that a signal handler forked while the part grew: its copy may lack the new
// pages.
void LiveMemory::map_in_child(LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  const std::size_t there = std::max(bytes, kWholePage);
  if (wanted > there) map_at(address_of(part) + there, wanted - there, kOfSystem, -1, 0);
}

void* LiveMemory::grow(LivePart part, std::size_t bytes, std::size_t wanted) noexcept {
  const KeptErrno kept;
  void* const first = reinterpret_cast<void*>(address_of(part));
  if (wanted > kLivePartBytes) return nullptr;
  const auto index = static_cast<std::size_t>(part);
  if (header_->problem.load(std::memory_order_relaxed) == 0) {
    const int problem = extend(part, bytes, wanted);
    if (problem == 0) {
      header_->bytes[index].store(wanted, std::memory_order_release);
      header_->extent[index].store(wanted, std::memory_order_release);
      if (header_->problem.load(std::memory_order_relaxed) == ECHILD)
        map_in_child(part, bytes, wanted);
      return first;
    }
    header_->problem.store(static_cast<std::uint32_t>(problem), std::memory_order_relaxed);
  }
  if (bytes == 0) munmap(first, kWholePage);  // begin() mapped it
  if (map_at(address_of(part) + bytes, wanted - bytes, kOfSystem, -1, 0) == nullptr) return nullptr;
  header_->extent[index].store(wanted, std::memory_order_release);
  return first;
}

void* LiveMemory::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const SystemLock lock(objects_lock_);
  // Objects do not share cache lines, because different threads write to them.
  constexpr std::size_t kLine = 64;
  alignment = std::max(alignment, kLine);
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
