// Counters in a shared page; who waits looks again and again.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/shared_moments.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace vramscope::simulator {

SharedMoments::SharedMoments() : file_(memfd_create("vramscope-event", MFD_CLOEXEC)) {
  if (file_ >= 0 && ftruncate(file_, sizeof(Page)) == 0) map(file_);
}

SharedMoments::SharedMoments(int file) { map(file); }

SharedMoments::~SharedMoments() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
  if (file_ >= 0) close(file_);
}

void SharedMoments::map(int file) {
  void* const page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) page_ = static_cast<Page*>(page);
}

std::uint64_t SharedMoments::begin() {
  page_->recorder = getpid();
  return ++page_->submitted;
}

void SharedMoments::reach(std::uint64_t number) {
  std::uint64_t before = page_->done.load();
  while (before < number && !page_->done.compare_exchange_weak(before, number)) {
  }
}

bool SharedMoments::reached(std::uint64_t number) const {
  if (page_->done.load() >= number) return true;
  return kill(page_->recorder.load(), 0) != 0 && errno == ESRCH;
}

void SharedMoments::wait(std::uint64_t number) const {
  while (!reached(number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace vramscope::simulator
