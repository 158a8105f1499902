// Maps, reads and unpacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "reporter/report/files/descriptor.h"

namespace vramscope {

namespace {

constexpr std::size_t kLargest = std::size_t{32}
                                 << 30;  // of what is not mapped: 3,000,000,000 events
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};  // RFC 8878, 3.1.1

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string too_large() { return "expected less than " + std::to_string(kLargest) + " bytes"; }

}  // namespace

TraceInput::TraceInput(const std::string& path) {
  open(path);
  file_bytes_ = bytes_.size();
  const bool packed = bytes_.size() >= sizeof kZstdMagic &&
                      std::memcmp(bytes_.data(), kZstdMagic, sizeof kZstdMagic) == 0;
  if (problem_.empty() && packed) unpack();
}

TraceInput::~TraceInput() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

void TraceInput::open(const std::string& path) {
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    problem_ = reason_of_errno();
    return;
  }
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    mapped_bytes_ = static_cast<std::size_t>(status.st_size);
    void* const mapped = mmap(nullptr, mapped_bytes_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (mapped != MAP_FAILED) {
      mapped_ = mapped;
      bytes_ = {static_cast<const std::byte*>(mapped), mapped_bytes_};
      return;
    }
  }
  read_all(file.number());
}

void TraceInput::read_all(int descriptor) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  for (;;) {
    const std::size_t used = read_.size();
    if (used > kLargest) {
      problem_ = too_large();
      return;
    }
    read_.resize(used + kStep);
    const ssize_t count = ::read(descriptor, read_.data() + used, kStep);
    read_.resize(used + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) problem_ = reason_of_errno();
    if (count <= 0) break;
  }
  bytes_ = bytes_of(read_);
}

void TraceInput::unpack() {
  compressed_ = true;
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::string part(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes_.data(), bytes_.size(), 0};
  std::size_t left = 1;  // 0 at the end of a frame
  bool full = false;     // there may be more although everything was taken in
  while (in.pos < in.size || full) {
    ZSTD_outBuffer out{part.data(), part.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0U) {
      problem_ = "byte " + std::to_string(in.pos + 1) +
                 " of the compressed file: " + ZSTD_getErrorName(left);
      return;
    }
    unpacked_.append(part, 0, out.pos);
    full = out.pos == out.size;
    if (unpacked_.size() > kLargest) {
      problem_ = too_large();
      return;
    }
  }
  if (left != 0) {
    problem_ = "byte " + std::to_string(in.size) +
               " of the compressed file: expected more of it; it is cut off";
  }
  bytes_ = bytes_of(unpacked_);
}

}  // namespace vramscope
