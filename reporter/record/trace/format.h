// ChunkHead and the other types here say how a trace lies in its file: chunks with checksums, and
// numbers of as many bytes as they need.
//
// reporter/report/FORMAT.md describes the whole format. Writer and reader share the definitions
// here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace vramscope {

// The beginning of the file: these 16 bytes, the version, and a checksum of both.
inline constexpr std::string_view kTraceMagic = "VRAMSCOPE TRACE\n";
inline constexpr std::uint32_t kTraceVersion = 1;
inline constexpr std::size_t kTraceHeadBytes = 24;
[[nodiscard]] std::array<std::byte, kTraceHeadBytes> trace_head() noexcept;

enum class ChunkType : std::uint8_t {
  facts = 1,           // the meaning of numbers in events
  events = 2,          // events of one lane
  mark = 3,            // everything recorded up to here is in the file
  segments = 4,        // segments that our allocator got or gave back
  marks = 5,           // instants that the program named
  repeated_marks = 6,  // instants whose names are repeated
  settings = 7,        // the settings that decide how memory is served
  unrecorded = 8,      // what of a device is used and not recorded
  begin = 9,           // what was live when the trace began, amid the run
};

// A chunk of facts consists of facts: a byte for the type, the number of the described thing, its
// description. A later description of the same number replaces the earlier one.
enum class FactType : std::uint8_t {
  process = 1,
  function,
  module,
  frame,
  site,
  owner,
  tag,
  thread,
  stream,
  range,
  source,
  code,
  named_stream,  // streams had no names until shortly before 0.1.0
  passes,        // how often a described range was entered, which earlier traces did not count
};

// Precedes the bytes of each chunk, as it lies in the file: little endian, without gaps.
struct ChunkHead {
  static constexpr std::uint32_t kMagic = 0x31435456;  // "VTC1"
  static constexpr std::uint8_t kLast = 1;             // flag: the last chunk of its part

  std::uint32_t magic = kMagic;
  ChunkType type = ChunkType::facts;
  std::uint8_t flags = 0;
  std::uint16_t slice = 0;  // number of the chunk in its part; the first chunk starts with an empty
                            // memory
  std::uint32_t lane = 0;   // a buffer that one thread fills, and later perhaps another
  std::uint32_t part = 0;   // number of the buffer's content: the parts of a lane follow each other
  std::uint32_t bytes = 0;  // bytes that follow
  std::uint32_t events = 0;         // events in those bytes
  std::uint32_t checksum = 0;       // of those bytes
  std::uint32_t head_checksum = 0;  // of the 28 bytes before it
};
static_assert(sizeof(ChunkHead) == 32);
inline constexpr std::size_t kHeadBytesChecked = 28;

// No chunk is larger. A reader that finds a larger number has found damage.
inline constexpr std::uint32_t kMostChunkBytes = std::uint32_t{1} << 24;

// Returns CRC-32 as in zip, PNG and Python's zlib.crc32(), computed eight bytes at a time.
[[nodiscard]] std::uint32_t checksum_of(std::span<const std::byte> bytes) noexcept;

// Sets the two checksums of `head`, which `bytes` will follow.
void seal(ChunkHead& head, std::span<const std::byte> bytes) noexcept;

// Numbers have seven bits in each byte, the lowest first. The highest bit says that more bytes
// follow.
inline constexpr std::size_t kMostNumberBytes = 10;

[[nodiscard]] inline std::byte* put_number(std::byte* at, std::uint64_t number) noexcept {
  while (number >= 0x80) {
    *at++ = static_cast<std::byte>(number | 0x80);
    number >>= 7;
  }
  *at++ = static_cast<std::byte>(number);
  return at;
}

// Encodes differences, so that small ones of either sign are small numbers.
[[nodiscard]] constexpr std::uint64_t fold(std::uint64_t difference) noexcept {
  const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) >> 63);
  return difference << 1 ^ sign;
}
[[nodiscard]] constexpr std::uint64_t unfold(std::uint64_t number) noexcept {
  return number >> 1 ^ (0 - (number & 1));
}

// Takes numbers and texts off the front of bytes. After the first value that is missing, it is
// bad() and returns zeroes.
class TraceBytes {
 public:
  TraceBytes() = default;
  explicit TraceBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] bool bad() const { return bad_; }
  void fail() {
    bad_ = true;
    bytes_ = {};
  }

  [[nodiscard]] std::uint8_t byte() {
    if (bytes_.empty()) {
      fail();
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    return value;
  }

  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint64_t next = byte();
      // Only the lowest bit of the tenth byte fits.
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return bad_ ? 0 : value;
    }
    fail();
    return 0;
  }

  // Returns a number that must be below `end`.
  [[nodiscard]] std::uint32_t below(std::uint64_t end) {
    const std::uint64_t value = number();
    if (value >= end) fail();
    return bad_ ? 0 : static_cast<std::uint32_t>(value);
  }

  [[nodiscard]] std::string_view text() {
    const std::uint64_t length = number();
    if (length > bytes_.size()) {
      fail();
      return {};
    }
    const std::string_view value(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool bad_ = false;
};

}  // namespace vramscope
