// Maps, reads and unpacks trace files.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "reporter/record/trace/format.h"
#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/traces/trace_reader.h"

namespace vramscope {

namespace {

constexpr std::size_t kLargest = std::size_t{32} << 30;           // unmapped: 3,000,000,000 events
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};  // RFC 8878, 3.1.1
// Traces shrink to two thirds. A file that grows by more than this, on disk or unpacked, is not a
// trace.
constexpr std::size_t kMostTimes = 64;
constexpr std::size_t kAlwaysBearable = std::size_t{64} << 20;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

bool begins_with(std::string_view text, std::string_view magic) {
  const std::size_t known = std::min(text.size(), magic.size());
  return known != 0 && text.substr(0, known) == magic.substr(0, known);
}

std::string wrong_beginning(std::string_view text) {
  const std::string_view zstd(reinterpret_cast<const char*>(kZstdMagic), sizeof kZstdMagic);
  const bool may_be_one = begins_with(text, kTraceMagic) || begins_with(text, zstd);
  return may_be_one ? "" : not_a_trace(text);
}

// Returns the bytes that a file occupies: the holes of a sparse file take no disk and no time to
// make.
std::size_t bytes_on_disk(int descriptor, std::size_t bytes) {
  std::size_t found = 0;
  for (off_t at = 0; at < static_cast<off_t>(bytes) && found < bytes / kMostTimes;) {
    const off_t begin = lseek(descriptor, at, SEEK_DATA);
    if (begin < 0)
      return errno == ENXIO ? found : bytes;  // the file ends, or the system does not
                                              // say
    at = lseek(descriptor, begin, SEEK_HOLE);
    if (at <= begin) return bytes;
    found += static_cast<std::size_t>(at - begin);
  }
  return found;
}

std::string mostly_hole(int descriptor, std::size_t bytes) {
  if (bytes <= kAlwaysBearable) return {};
  const std::size_t found = bytes_on_disk(descriptor, bytes);
  if (found >= bytes / kMostTimes) return {};
  return "byte " + std::to_string(found + 1) +
         ": expected a trace, found a file with holes: " + std::to_string(bytes) +
         " bytes, of which " + std::to_string(found) + " are on the disk";
}

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
  const Descriptor file(path, O_NONBLOCK);  // a FIFO may have no writer
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    problem_ = reason_of_errno();
    return;
  }
  is_own_ = is_own_file(file.number());
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    problem_ = mostly_hole(file.number(), bytes);
    if (!problem_.empty() || map(file.number(), bytes)) return;
  }
  InputFile all =
      read_file(file.number(),
                {.noun = "a trace", .most_bytes = kLargest, .wrong_beginning = wrong_beginning});
  problem_ = std::move(all.problem);
  read_ = std::move(all.text);
  bytes_ = bytes_of(read_);
}

bool TraceInput::map(int descriptor, std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED) return false;
  mapped_ = mapped;
  mapped_bytes_ = bytes;
  bytes_ = {static_cast<const std::byte*>(mapped), bytes};
  return true;
}

void TraceInput::unpack() {
  compressed_ = true;
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::string part(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes_.data(), bytes_.size(), 0};
  std::size_t left = 1;  // 0 at the end of a frame
  const std::size_t most =
      std::min(kLargest, std::max(kAlwaysBearable, kMostTimes * bytes_.size()));
  bool full = false;  // more output may follow although all input was taken
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
    if (unpacked_.size() <= most) continue;
    problem_ = "byte " + std::to_string(in.pos) + " of the compressed file: expected at most " +
               std::to_string(most) + " bytes of a file of " + std::to_string(bytes_.size());
    bytes_ = {};
    return;
  }
  if (left != 0) {
    problem_ = "compressed, and " + ends_early_at(in.size);
  }
  bytes_ = bytes_of(unpacked_);
}

}  // namespace vramscope
