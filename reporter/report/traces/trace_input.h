// TraceInput is the bytes of a trace file, compressed or not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace vramscope {

// A file as memory; one that zstd compressed is unpacked, to at most 64 MiB or 64 times its size,
// whichever is more. A pipe is waited for while somebody writes to it. Threads: one.
class TraceInput {
 public:
  // May throw bad_alloc.
  explicit TraceInput(const std::string& path);
  ~TraceInput();
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  [[nodiscard]] const std::string& problem() const { return problem_; }  // "" when there are bytes
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::size_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] bool is_compressed() const { return compressed_; }
  [[nodiscard]] bool is_own() const { return is_own_; }  // as is_own_file() says

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
  std::string read_;      // what could not be mapped
  std::string unpacked_;  // what was compressed
};

}  // namespace vramscope
