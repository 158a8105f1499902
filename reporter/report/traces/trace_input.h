// TraceInput gives the bytes of a trace file, compressed or not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace vramscope {

// Has a file in memory. A file that zstd compressed is unpacked to at most 64 MiB or 64 times its
// size, whichever is more. A pipe is read while a process writes to it. Threads: one.
class TraceInput {
 public:
  // May throw bad_alloc.
  explicit TraceInput(const std::string& path);
  ~TraceInput();
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  [[nodiscard]] const std::string& problem() const { return problem_; }  // "" if bytes() is valid
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::size_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] bool is_compressed() const { return compressed_; }
  [[nodiscard]] bool is_own() const { return is_own_; }  // see is_own_file()

 private:
  void open(const std::string& path);
  [[nodiscard]] bool map(int descriptor, std::size_t bytes);
  void unpack();

  std::string problem_;
  std::span<const std::byte> bytes_;
  std::size_t file_bytes_ = 0;
  bool compressed_ = false;
  bool is_own_ = false;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::string read_;      // content that could not be mapped
  std::string unpacked_;  // content that was compressed
};

}  // namespace vramscope
