// SharedMoments is the moments of an event that several processes share: how many were submitted,
// and how many were reached.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vramscope::simulator {

// A page of memory without a name, which other processes map by the exporter's descriptor. Threads:
// any, also of other processes.
class SharedMoments {
 public:
  // Makes a new page in a file of our own, or maps the page of a given descriptor, which the caller
  // keeps.
  SharedMoments();
  explicit SharedMoments(int file);
  SharedMoments(const SharedMoments&) = delete;
  SharedMoments& operator=(const SharedMoments&) = delete;
  ~SharedMoments();

  [[nodiscard]] bool ok() const { return page_ != nullptr; }
  [[nodiscard]] int file() const { return file_; }  // -1: the file belongs to another process

  // Counts a submitted record. Returns the number for reach() when its stream gets there.
  [[nodiscard]] std::uint64_t begin();
  void reach(std::uint64_t number);
  // Returns the last record that any process submitted; 0: none.
  [[nodiscard]] std::uint64_t last() const { return page_->submitted.load(); }
  // The work of a process that ended is gone, so its submissions count as reached.
  [[nodiscard]] bool reached(std::uint64_t number) const;
  void wait(std::uint64_t number) const;

 private:
  struct Page {
    std::atomic<std::uint64_t> submitted;
    std::atomic<std::uint64_t> done;
    std::atomic<std::int32_t> recorder;  // pid of the last process
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  void map(int file);

  int file_ = -1;
  Page* page_ = nullptr;
};

}  // namespace vramscope::simulator
