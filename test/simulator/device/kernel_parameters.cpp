// Sections .nv.info.KERNEL of ELF files, as ptxas 11 to 13 writes them, and declarations of PTX.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/kernel_parameters.h"

#include <elf.h>

#include <cstdint>
#include <regex>

#include "test/simulator/device/image_bytes.h"

namespace vramscope::simulator {

namespace {

// One attribute of a kernel; a sized one has so many bytes behind it.
struct Attribute {
  static constexpr std::uint8_t kSized = 4;
  static constexpr std::uint8_t kParameter = 0x17;  // EIATTR_KPARAM_INFO of cuobjdump
  std::uint8_t format, name;
  std::uint16_t size_or_value;
};
struct ParameterInfo {
  std::uint32_t index;
  std::uint16_t ordinal, offset;
  std::uint32_t flags;
  [[nodiscard]] std::size_t bytes() const { return flags >> 18; }
};

std::vector<Parameter> parameters_in(std::string_view section) {
  std::vector<Parameter> found;
  for (std::uint64_t at = 0; const auto next = read_at<Attribute>(section, at);) {
    at += sizeof(Attribute);
    if (next->format != Attribute::kSized) continue;
    const auto info = read_at<ParameterInfo>(section, at);
    at += next->size_or_value;
    if (next->name != Attribute::kParameter || !info) continue;
    if (info->ordinal >= found.size()) found.resize(info->ordinal + std::size_t{1});
    found[info->ordinal] = {info->offset, info->bytes()};
  }
  return found;
}

Parameters parameters_of_elf(std::string_view image) {
  constexpr std::string_view kSection = ".nv.info.";
  Parameters found;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return found;
  const auto names = section_at(image, *header, header->e_shstrndx);
  for (unsigned i = 0; names && i < header->e_shnum; ++i) {
    const auto one = section_at(image, *header, i);
    if (!one) break;
    const std::string_view name = name_at(image, names->sh_offset + one->sh_name);
    if (!name.starts_with(kSection) || one->sh_offset > image.size()) continue;
    found[std::string(name.substr(kSection.size()))] =
        parameters_in(image.substr(one->sh_offset, one->sh_size));
  }
  return found;
}

// .param .align 8 .b8 name[24]
std::vector<Parameter> parameters_in_list(const std::string& list) {
  static const auto& kParameter = *new std::regex(
      R"(\.param\b(?:\s+\.align\s+(\d+))?\s+\.[bufs](8|16|32|64|128)\b[^,\[]*(?:\[(\d+)\])?)");
  std::vector<Parameter> found;
  std::size_t end = 0;
  for (std::sregex_iterator next(list.begin(), list.end(), kParameter), last; next != last;
       ++next) {
    const std::size_t element = std::stoul((*next)[2]) / 8;
    const std::size_t align = (*next)[1].matched ? std::stoul((*next)[1]) : element;
    const std::size_t count = (*next)[3].matched ? std::stoul((*next)[3]) : 1;
    const std::size_t start = align == 0 ? end : (end + align - 1) / align * align;
    found.push_back({start, element * count});
    end = start + element * count;
  }
  return found;
}

// .visible .entry name(.param .u64 first, ...)
Parameters parameters_of_text(std::string_view text) {
  static const auto& kEntry = *new std::regex(R"(\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?)");
  Parameters found;
  for (std::cregex_iterator next(text.begin(), text.end(), kEntry), last; next != last; ++next) {
    found[(*next)[1]] = parameters_in_list((*next)[2]);
  }
  return found;
}

}  // namespace

Parameters parameters_of(std::string_view image) {
  if (image.starts_with(ELFMAG)) return parameters_of_elf(image);
  return parameters_of_text(image);
}

}  // namespace vramscope::simulator
