// A PROT_NONE reservation over one sparse memfd.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/shadow_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

namespace {

// The file: the device's addresses, new pages for those whose first ones others keep, then words
// about exports.
constexpr std::uint64_t kNewPagesAt = std::uint64_t{1} << 44;
constexpr std::uint64_t kFileBytes = kSlotsAt * 2;

void* map(void* where, std::uint64_t bytes, int access, int flags, int file, std::uint64_t offset) {
  void* start = mmap(where, bytes, access, flags | MAP_NORESERVE, file, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return nullptr;
  madvise(start, bytes, MADV_DONTDUMP);
  return start;
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

std::uint64_t inode_of(int file) {
  struct stat facts = {};
  return fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

ShadowMemory::ShadowMemory(std::uint64_t bytes)
    : reserved_(bytes + kGranule),
      bytes_(bytes),
      used_(bytes / kGranule),
      next_new_page_(kNewPagesAt) {
  file_ = memfd_create("vramscope-simulated-device", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kFileBytes)) != 0) return;
  inode_ = inode_of(file_);
  reservation_ = map(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reservation_ == nullptr) return;
  base_ = round_up(reinterpret_cast<Address>(reservation_), kGranule);
  shadow_ =
      static_cast<std::byte*>(map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
}

ShadowMemory::~ShadowMemory() {
  if (shadow_ != nullptr) munmap(shadow_, bytes_);
  if (reservation_ != nullptr) munmap(reservation_, reserved_);
  if (file_is_open()) close(file_);
}

bool ShadowMemory::open_to_host(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bool all = file_is_open();
  note_use(start, bytes);
  each_piece(start, start + round_up(bytes, kHostPage),
             [&](Address at, std::uint64_t length, std::uint64_t offset) {
               all = all && map(pointer(at), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                file_, offset) != nullptr;
             });
  return all;
}

void ShadowMemory::close_to_host(Address start, std::uint64_t bytes) {
  map(pointer(start), round_up(bytes, kHostPage), PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

bool ShadowMemory::discard(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (is_left_to_importers(start, bytes)) return true;
  if (!was_used(start, bytes) || !file_is_open()) return false;
  each_piece(round_up(start, kHostPage), (start + bytes) / kHostPage * kHostPage,
             [&](Address, std::uint64_t length, std::uint64_t offset) {
               fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(offset), static_cast<off_t>(length));
             });
  return false;
}

bool ShadowMemory::is_open_elsewhere(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return file_is_open() && is_used_elsewhere(file_, slot_of(id));
}

void ShadowMemory::settle(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (moved_.empty() || shares_a_granule(bytes)) return;
  for (std::uint64_t at = 0; at < bytes; at += kGranule) {
    if (offset_of(start + at) == offset_of(start) + at) continue;
    move_to_new_pages(start, round_up(bytes, kGranule));
    return;
  }
}

std::optional<FilePlace> ShadowMemory::place_of(Address start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!file_is_open()) return std::nullopt;
  note_use(start, bytes);
  return FilePlace{.file = file_, .inode = inode_, .offset = offset_of(start)};
}

std::optional<FilePlace> ShadowMemory::export_from(Address start, std::uint64_t bytes,
                                                   std::uint64_t id) {
  const auto place = place_of(start, bytes);
  if (!place) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& slot = exports_[start];
  if (slot != nullptr) return place;
  auto made = std::make_unique<ExportSlot>(file_, id);
  if (!made->ok()) return std::nullopt;
  made->begin();
  slot = std::move(made);
  return place;
}

void ShadowMemory::note_use(Address start, std::uint64_t bytes) {
  for (std::uint64_t at = granule_of(start); at <= granule_of(start + bytes - 1); ++at) {
    used_[at].store(true, std::memory_order_relaxed);
  }
}

bool ShadowMemory::was_used(Address start, std::uint64_t bytes) const {
  const auto first = used_.begin() + static_cast<std::ptrdiff_t>(granule_of(start));
  const auto last = used_.begin() + static_cast<std::ptrdiff_t>(granule_of(start + bytes - 1));
  return std::find(first, last + 1, true) != last + 1;
}

// A program may close every descriptor, and get our number for a file of its own.
bool ShadowMemory::file_is_open() const { return file_ >= 0 && inode_of(file_) == inode_; }

std::uint64_t ShadowMemory::offset_of(Address address) const {
  const Address granule = address / kGranule * kGranule;
  const auto moved = moved_.find(granule);
  return moved == moved_.end() ? address - base_ : moved->second + (address - granule);
}

// Small allocations share their granule with neighbours, as on the real device: those bytes stay
// where they are.
bool ShadowMemory::is_left_to_importers(Address start, std::uint64_t bytes) {
  const auto exported = exports_.find(start);
  if (exported == exports_.end()) return false;
  const bool idle = exported->second->end();
  exports_.erase(exported);
  if (idle || shares_a_granule(bytes)) return false;
  move_to_new_pages(start, round_up(bytes, kGranule));
  return true;
}

void ShadowMemory::move_to_new_pages(Address start, std::uint64_t bytes) {
  if (!file_is_open()) return;
  map(shadow_ + (start - base_), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
      next_new_page_);
  for (std::uint64_t at = 0; at < bytes; at += kGranule) moved_[start + at] = next_new_page_ + at;
  next_new_page_ += bytes;
}

// Calls `piece(address, bytes, offset)` for stretches that are contiguous in the file.
template <class Piece>
void ShadowMemory::each_piece(Address start, Address end, Piece piece) const {
  for (Address at = start; at < end;) {
    Address next = moved_.empty() ? end : std::min(end, at / kGranule * kGranule + kGranule);
    piece(at, next - at, offset_of(at));
    at = next;
  }
}

}  // namespace vramscope::simulator
