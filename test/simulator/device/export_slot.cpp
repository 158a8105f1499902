// One shared page at a time.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/export_slot.h"

#include <sys/mman.h>

#include "test/simulator/device/granules.h"

namespace vramscope::simulator {

ExportSlot::ExportSlot(int file, std::uint64_t id) {
  const std::uint64_t at = kSlotsAt + id * sizeof *word_;
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
