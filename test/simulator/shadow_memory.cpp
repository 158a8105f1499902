// A PROT_NONE reservation over one sparse memfd.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/shadow_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/simulator/granules.h"

namespace vramscope::simulator {

namespace {
constexpr std::uint64_t kPage = 4096;

void* map(void* where, std::uint64_t bytes, int access, int flags, int file, std::uint64_t offset) {
  void* start = mmap(where, bytes, access, flags | MAP_NORESERVE, file, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return nullptr;
  madvise(start, bytes, MADV_DONTDUMP);
  return start;
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }
}  // namespace

ShadowMemory::ShadowMemory(std::uint64_t bytes) : reserved_(bytes + kGranule), bytes_(bytes) {
  file_ = memfd_create("vramscope-simulated-device", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) return;
  reservation_ = map(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reservation_ == nullptr) return;
  base_ = round_up(reinterpret_cast<Address>(reservation_), kGranule);
  shadow_ =
      static_cast<std::byte*>(map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
}

ShadowMemory::~ShadowMemory() {
  if (shadow_ != nullptr) munmap(shadow_, bytes_);
  if (reservation_ != nullptr) munmap(reservation_, reserved_);
  if (file_ >= 0) close(file_);
}

bool ShadowMemory::open_to_host(Address start, std::uint64_t bytes) {
  return map(pointer(start), round_up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             file_, start - base_) != nullptr;
}

void ShadowMemory::close_to_host(Address start, std::uint64_t bytes) {
  map(pointer(start), round_up(bytes, kPage), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
      -1, 0);
}

void ShadowMemory::discard(Address start, std::uint64_t bytes) {
  const std::uint64_t first = round_up(start - base_, kPage);
  const std::uint64_t last = (start - base_ + bytes) / kPage * kPage;
  if (last <= first) return;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
            static_cast<off_t>(last - first));
}

}  // namespace vramscope::simulator
