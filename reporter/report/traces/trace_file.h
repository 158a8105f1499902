// TraceFile is the file to which a trace is appended, chunk by chunk, by any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "allocator/base/own_file.h"
#include "reporter/record/trace/lane.h"

namespace vramscope {

// Each chunk gets its place before it is written, so writers need no lock. The descriptor has a
// high number and is checked before each write: a program that closes all descriptors does not end
// the trace. Threads: any.
class TraceFile final : public ChunkSink {
 public:
  // Bytes that stay free on the file system, so that a report still fits there.
  static constexpr std::uint64_t kLeftFree = std::uint64_t{16} << 20;

  // Creates `path`, or the first free one of "~1", "~2", ... appended to it, with mode 0600. Links
  // are not followed and no folder is made. After a failure, which error() returns, there is no
  // file. May throw bad_alloc.
  explicit TraceFile(std::string path);
  ~TraceFile() override;

  [[nodiscard]] bool write(std::span<const std::byte> head,
                           std::span<const std::byte> bytes) noexcept override;

  // Removes the file, unless something else has its name by now. Threads: one, while no other uses
  // the object.
  void take_away() noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int error() const noexcept {  // errno of the first failure; 0: none
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
