// One shared page at a time.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/export_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

namespace {

flock lock_at(std::uint64_t at, short type) {
  flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(at);
  lock.l_len = 1;
  return lock;
}

}  // namespace

void note_use_of(int file, std::uint64_t at) {
  flock lock = lock_at(at, F_RDLCK);
  (void)fcntl(file, F_OFD_SETLK, &lock);
}

bool is_used_elsewhere(int file, std::uint64_t at) {
  flock lock = lock_at(at, F_WRLCK);
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

ExportSlot::ExportSlot(int file, std::uint64_t id) {
  const std::uint64_t at = slot_of(id);
  void* page = mmap(nullptr, kHostPage, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                    static_cast<off_t>(at / kHostPage * kHostPage));
  if (page == MAP_FAILED) return;
  page_ = page;
  word_ = reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(page) + at % kHostPage);
}

ExportSlot::~ExportSlot() {
  if (page_ != nullptr) munmap(page_, kHostPage);
}

bool ExportSlot::open() {
  std::uint64_t seen = word_->load();
  while ((seen & kLives) != 0) {
    if (word_->compare_exchange_weak(seen, seen + 1)) return true;
  }
  return false;
}

}  // namespace vramscope::simulator
