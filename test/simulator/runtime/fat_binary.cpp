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

// Passes each entry, with its content.
template <class F>
void each_entry(const void* image, F&& pass) {
  const auto* const start = static_cast<const std::byte*>(image);
  if (read<std::uint32_t>(start) != kWrapperMagic) return;
  const std::byte* const binary = read<Wrapper>(start).binary;
  if (binary == nullptr || read<std::uint32_t>(binary) != kBinaryMagic) return;
  const auto whole = read<BinaryHeader>(binary);
  const std::byte* at = binary + whole.header_bytes;
  const std::byte* const end = at + whole.bytes;
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(EntryHeader))) {
    const auto entry = read<EntryHeader>(at);
    const std::uint64_t bytes = entry.header_bytes + entry.bytes;
    if (bytes < sizeof(EntryHeader) || bytes > static_cast<std::uint64_t>(end - at)) return;
    pass(entry,
         std::string_view(reinterpret_cast<const char*>(at + entry.header_bytes), entry.bytes));
    at += bytes;
  }
}

}  // namespace

std::optional<CodeVersion> code_for(const void* image, int device) {
  int machine = 0;  // the newest code of each kind that the device can run
  int portable = 0;
  each_entry(image, [&](const EntryHeader& entry, std::string_view) {
    const int architecture = static_cast<int>(entry.architecture);
    const bool can_run = architecture <= device;
    const bool is_of_major = architecture / 10 == device / 10;
    if (entry.kind == EntryHeader::elf && can_run && is_of_major && architecture > machine)
      machine = architecture;
    if (entry.kind == EntryHeader::ptx && can_run && architecture > portable)
      portable = architecture;
  });
  if (machine != 0) return CodeVersion{.ptx = machine, .binary = machine};
  if (portable != 0) return CodeVersion{.ptx = portable, .binary = device};
  return std::nullopt;
}

std::string_view machine_code_in(const void* image) {
  std::string_view found;
  each_entry(image, [&](const EntryHeader& entry, std::string_view content) {
    const bool is_plain = entry.kind == EntryHeader::elf && content.starts_with("\177ELF");
    if (is_plain && found.empty()) found = content;
  });
  return found;
}

}  // namespace cudart
