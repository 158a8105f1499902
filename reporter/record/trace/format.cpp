// Computes the beginning of a trace, and the checksums.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/format.h"

namespace vramscope {

namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b] is the effect of the byte b on the checksum if k more bytes follow it.
constexpr Tables make_tables() {
  constexpr std::uint32_t kPolynomial = 0xedb88320U;  // of ISO 3309, with reversed bits
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t checksum_of(std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = ~0U;
  while (bytes.size() >= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    eight ^= sum;
    sum = 0;
    for (unsigned i = 0; i < 8; ++i) sum ^= kTables[7 - i][eight >> 8 * i & 0xff];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) {
    sum = sum >> 8 ^ kTables[0][(sum ^ static_cast<std::uint32_t>(byte)) & 0xff];
  }
  return ~sum;
}

std::array<std::byte, kTraceHeadBytes> trace_head() noexcept {
  std::array<std::byte, kTraceHeadBytes> head{};
  constexpr std::size_t kVersionAt = kTraceMagic.size();
  constexpr std::size_t kChecksumAt = kVersionAt + sizeof kTraceVersion;
  std::memcpy(head.data(), kTraceMagic.data(), kTraceMagic.size());
  std::memcpy(head.data() + kVersionAt, &kTraceVersion, sizeof kTraceVersion);
  const std::uint32_t checksum = checksum_of(std::span(head).first(kChecksumAt));
  std::memcpy(head.data() + kChecksumAt, &checksum, sizeof checksum);
  return head;
}

void seal(ChunkHead& head, std::span<const std::byte> bytes) noexcept {
  head.checksum = checksum_of(bytes);
  head.head_checksum = checksum_of(std::as_bytes(std::span(&head, 1)).first(kHeadBytesChecked));
}

}  // namespace vramscope
