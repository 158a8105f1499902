// The moments that an event stands for in several processes: how many were asked for, how many
// came.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vramscope::simulator {

// A page in memory without a name, which other processes map by the exporter's descriptor.
// Threads: any; processes too.
class SharedMoments {
 public:
  // A new page, of a file of our own; with a descriptor that stays the caller's: that file's page.
  SharedMoments();
  explicit SharedMoments(int file);
  SharedMoments(const SharedMoments&) = delete;
  SharedMoments& operator=(const SharedMoments&) = delete;
  ~SharedMoments();

  [[nodiscard]] bool ok() const { return page_ != nullptr; }
  [[nodiscard]] int file() const { return file_; }  // -1: another process's

  // A record was submitted: the number to tell `reached` when its stream gets there.
  [[nodiscard]] std::uint64_t begin();
  void reach(std::uint64_t number);
  // The last record that anybody submitted; 0: none.
  [[nodiscard]] std::uint64_t last() const { return page_->submitted.load(); }
  // A process that ended took the rest of its work with it: what it submitted counts as reached.
  [[nodiscard]] bool reached(std::uint64_t number) const;
  void wait(std::uint64_t number) const;

 private:
  struct Page {
    std::atomic<std::uint64_t> submitted;
    std::atomic<std::uint64_t> done;
    std::atomic<std::int32_t> recorder;  // pid of the last one
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  void map(int file);

  int file_ = -1;
  Page* page_ = nullptr;
};

}  // namespace vramscope::simulator
