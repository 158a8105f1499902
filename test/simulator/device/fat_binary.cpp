// Reads the headers inside fat binaries, as nvcc 11 to 13 writes them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/fat_binary.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "test/simulator/device/packed_code.h"

namespace vramscope::simulator {
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
  std::uint32_t packed_bytes;  // without padding; 0: it is not packed
  std::uint32_t unknown_size;
  std::uint16_t minor, major;  // of the entry's format
  std::uint32_t architecture;  // 89
  std::uint32_t unknown_words[2];
  std::uint64_t flags;  // of PackedBy, among others
  std::uint64_t unknown_flags;
  std::uint64_t unpacked_bytes;
};

template <class Header>
Header read(const std::byte* at) {
  Header header;
  std::memcpy(&header, at, sizeof header);
  return header;
}

// Returns the fat binary inside a wrapper, or the image if it is one; null: it is neither.
const std::byte* binary_in(const void* image) {
  const auto* start = static_cast<const std::byte*>(image);
  if (read<std::uint32_t>(start) == kWrapperMagic) start = read<Wrapper>(start).binary;
  return start != nullptr && read<std::uint32_t>(start) == kBinaryMagic ? start : nullptr;
}

// Passes each entry, with its content.
template <class F>
void each_entry(const void* image, F&& pass) {
  const std::byte* const binary = binary_in(image);
  if (binary == nullptr) return;
  const auto whole = read<BinaryHeader>(binary);
  const std::byte* at = binary + whole.header_bytes;
  const std::byte* const end = at + whole.bytes;
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(EntryHeader))) {
    const auto entry = read<EntryHeader>(at);
    const std::uint64_t bytes = entry.header_bytes + entry.bytes;
    if (entry.header_bytes < sizeof(EntryHeader) || bytes < entry.bytes ||
        bytes > static_cast<std::uint64_t>(end - at))
      return;
    pass(entry,
         std::string_view(reinterpret_cast<const char*>(at + entry.header_bytes), entry.bytes));
    at += bytes;
  }
}

std::string content_of(const EntryHeader& entry, std::string_view content) {
  const auto by = packing_of(entry.flags);
  if (by == PackedBy::nothing) return std::string(content);
  return unpacked(by, content.substr(0, entry.packed_bytes), entry.unpacked_bytes);
}

}  // namespace

bool is_fat_binary(const void* image) { return binary_in(image) != nullptr; }

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

std::string code_in(const void* image) {
  std::string machine, portable;
  each_entry(image, [&](const EntryHeader& entry, std::string_view content) {
    const bool is_elf = entry.kind == EntryHeader::elf;
    std::string& found = is_elf ? machine : portable;
    if ((!is_elf && entry.kind != EntryHeader::ptx) || !found.empty()) return;
    std::string code = content_of(entry, content);
    if (is_elf && code.starts_with(ELFMAG)) found = std::move(code);
    if (!is_elf) found = code.substr(0, code.find('\0'));
  });
  return machine.empty() ? portable : machine;
}

}  // namespace vramscope::simulator
