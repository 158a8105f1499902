// TraceFile is the file that a trace grows in, chunk by chunk, written by any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "allocator/ground/own_file.h"
#include "reporter/record/trace/lane.h"

namespace vramscope {

// Each chunk has a place of its own before it is written, so writers need no lock. Its descriptor
// keeps out of the program's way and is looked at before each write: a program that closes all
// descriptors does not end the trace. Threads: any.
class TraceFile final : public ChunkSink {
 public:
  // What is left free on the file system, so that a report still finds room there.
  static constexpr std::uint64_t kLeftFree = std::uint64_t{16} << 20;

  // Makes `path`, or the first free one of "~1", "~2", ... behind it: mode 0600, links not
  // followed, no folder made. After a failure, which is in error(), there is no file. May throw
  // bad_alloc.
  explicit TraceFile(std::string path);
  ~TraceFile() override;

  [[nodiscard]] bool write(std::span<const std::byte> head,
                           std::span<const std::byte> bytes) noexcept override;

  // Takes the file away that was made, unless something else has its name by now. Threads: one,
  // with no other at work on it.
  void take_away() noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int error() const noexcept {  // errno of the first failure, 0: none
    return error_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return end_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] int make();
  [[nodiscard]] bool is_ours(int descriptor) const noexcept;
  [[nodiscard]] int descriptor() noexcept;
  [[nodiscard]] int write_at(std::uint64_t offset, std::span<const std::byte> head,
                             std::span<const std::byte> bytes) noexcept;
  void fail(int error) noexcept;

  std::string path_;
  FileIdentity own_;
  std::atomic<int> descriptor_{-1};
  std::atomic<std::uint64_t> end_{0};
  std::atomic<int> error_{0};
};

}  // namespace vramscope
