// What the tests of recovery share: a process that records, and what it left, mapped by another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

#include "reporter/record/recorder_root.h"
#include "reporter/record/recovery.h"

namespace vramscope {

inline constexpr std::size_t kFunctions = 40;
inline constexpr std::size_t kThreads = 4;

// Every field, a line each.
std::string describe(const RecorderFacts& facts);

// What a process left, mapped as it had it.
class Image {
 public:
  explicit Image(int file) {
    LiveHeader head;
    if (pread(file, static_cast<void*>(&head), sizeof head, 0) != sizeof head || head.base == 0) {
      return;
    }
    for (std::size_t i = 0; i < kLiveParts; ++i) {
      bytes_[i] = head.bytes[i].load();
      if (bytes_[i] == 0) continue;
      void* const at = reinterpret_cast<void*>(head.base + i * kLivePartBytes);
      void* const got =
          mmap(at, bytes_[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file,
               static_cast<off_t>(i * kLivePartBytes));
      if (got != at) throw std::runtime_error("the addresses of the image are taken");
    }
    header_ = reinterpret_cast<LiveHeader*>(head.base);
  }
  ~Image() {
    if (header_ == nullptr) return;
    const std::uint64_t base = header_->base;
    for (std::size_t i = 0; i < kLiveParts; ++i) {
      if (bytes_[i] != 0) munmap(reinterpret_cast<void*>(base + i * kLivePartBytes), bytes_[i]);
    }
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  LiveHeader* header() { return header_; }
  RecorderRoot& root() {
    return *static_cast<RecorderRoot*>(const_cast<void*>(header_->recorder.load()));
  }

 private:
  LiveHeader* header_ = nullptr;
  std::array<std::uint64_t, kLiveParts> bytes_{};
};

struct Recovery : testing::Test {
  Recovery() : file(mkstemp(path.data())) {}
  ~Recovery() override {
    close(file);
    unlink(path.c_str());
  }

  // What `body` does in a process of its own, which ends by _exit with what it gives, or by a
  // signal.
  pid_t start(const std::function<int(LiveMemory&)>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    LiveMemory memory;
    if (memory.begin(file, path.c_str()) != 0) _exit(100);
    _exit(body(memory));
  }
  static int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  std::string read_back() {
    Image image(file);
    if (image.header() == nullptr) return "there is no header";
    return describe(recover_facts(*image.header()));
  }

  std::string path = "/dev/shm/vramscope-recovery-test-XXXXXX";
  int file;
};

}  // namespace vramscope
