// Reads the headers inside fat binaries, as nvcc 11 to 13 writes them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/fat_binary.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cudart {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kBinaryMagic = 0xba55ed50;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const std::byte* binary;
};

struct BinaryHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of all entries, their headers included
};

struct EntryHeader {
  enum Kind : std::uint16_t { ptx = 1, elf = 2 };
  std::uint16_t kind;
  std::uint16_t unknown;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint64_t unknown_sizes;
  std::uint16_t minor, major;  // of the entry's format
  std::uint32_t architecture;  // 89
};

template <class Header>
Header read(const std::byte* at) {
  Header header;
  std::memcpy(&header, at, sizeof header);
  return header;
}

}  // namespace

std::optional<CodeVersion> code_for(const void* image, int device) {
  const auto* const start = static_cast<const std::byte*>(image);
  if (read<std::uint32_t>(start) != kWrapperMagic) return std::nullopt;
  const std::byte* const binary = read<Wrapper>(start).binary;
  if (binary == nullptr || read<std::uint32_t>(binary) != kBinaryMagic) return std::nullopt;
  const auto whole = read<BinaryHeader>(binary);
  const std::byte* at = binary + whole.header_bytes;
  const std::byte* const end = at + whole.bytes;
  int machine = 0;  // the newest code of each kind that the device can run
  int portable = 0;
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(EntryHeader))) {
    const auto entry = read<EntryHeader>(at);
    const int architecture = static_cast<int>(entry.architecture);
    const bool can_run = architecture <= device;
    const bool is_of_major = architecture / 10 == device / 10;
    if (entry.kind == EntryHeader::elf && can_run && is_of_major && architecture > machine)
      machine = architecture;
    if (entry.kind == EntryHeader::ptx && can_run && architecture > portable)
      portable = architecture;
    const std::uint64_t bytes = entry.header_bytes + entry.bytes;
    if (bytes < sizeof(EntryHeader) || bytes > static_cast<std::uint64_t>(end - at)) break;
    at += bytes;
  }
  if (machine != 0) return CodeVersion{.ptx = machine, .binary = machine};
  if (portable != 0) return CodeVersion{.ptx = portable, .binary = device};
  return std::nullopt;
}

}  // namespace cudart
