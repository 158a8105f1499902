// Symbols of ELF files and declarations of PTX, as far as variables go.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/code_variables.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <regex>

#include "test/simulator/device/image_bytes.h"
#include "test/simulator/device/text_values.h"

namespace vramscope::simulator {

namespace {

bool is_elf(const char* image) {
  constexpr char kStart[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64};
  for (std::size_t i = 0; i < sizeof kStart; ++i) {  // byte by byte: it may be a shorter text
    if (image[i] != kStart[i]) return false;
  }
  return true;
}

// PTX begins with a comment or a directive, after white space.
bool is_text(const char* image) {
  while (*image == ' ' || *image == '\n' || *image == '\r' || *image == '\t') ++image;
  return *image == '.' || (image[0] == '/' && (image[1] == '/' || image[1] == '*'));
}

std::string_view part_of(std::string_view image, std::uint64_t at, std::uint64_t bytes) {
  return at >= image.size() ? std::string_view() : image.substr(at, bytes);
}

// The file has the bytes of the variables of .nv.global.init and of constants.
class ElfSymbols {
 public:
  ElfSymbols(std::string_view image, const Elf64_Ehdr& header) : image_(image), header_(header) {}

  [[nodiscard]] std::optional<Elf64_Shdr> section(std::uint64_t index) const {
    return section_at(image_, header_, index);
  }

  void add(const Elf64_Shdr& symbols, const Elf64_Shdr& names, Variables& found) const {
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(image_, symbols.sh_offset + at);
      if (!symbol) return;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0) continue;
      found[std::string(name_at(image_, names.sh_offset + symbol->st_name))] = {
          .bytes = symbol->st_size,
          .is_managed = symbol->st_other == kManaged,
          .initial = initial_of(*symbol)};
    }
  }

 private:
  static constexpr unsigned char kManaged = 4;  // "managed" of cuobjdump's list of symbols

  [[nodiscard]] std::string initial_of(const Elf64_Sym& symbol) const {
    const auto home = section(symbol.st_shndx);
    if (!home || home->sh_type != SHT_PROGBITS || symbol.st_value < home->sh_addr) return {};
    const std::uint64_t offset = symbol.st_value - home->sh_addr;
    return std::string(
        part_of(part_of(image_, home->sh_offset, home->sh_size), offset, symbol.st_size));
  }

  std::string_view image_;
  const Elf64_Ehdr& header_;
};

Variables variables_of_elf(std::string_view image) {
  Variables found;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return found;
  const ElfSymbols file(image, *header);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto symbols = file.section(i);
    if (!symbols || symbols->sh_type != SHT_SYMTAB) continue;
    if (const auto names = file.section(symbols->sh_link)) file.add(*symbols, *names, found);
  }
  return found;
}

// .visible .const .align 8 .b8 name[4096];    .global .attribute(.managed) .u32 name = 1;
Variables variables_of_text(std::string_view text) {
  static const auto& kDeclaration = *new std::regex(
      R"(\.(?:global|const)\b\s*(\.attribute\(\.managed\))?[^;{}()]*\.[bufs](8|16|32|64)\s+([\w$%]+)\s*(?:\[(\d+)\])?\s*([;=]))");
  Variables found;
  for (std::cregex_iterator next(text.begin(), text.end(), kDeclaration), end; next != end;
       ++next) {
    const auto& one = *next;
    const std::uint64_t element = std::stoull(one[2]) / 8;
    const std::uint64_t count = one[4].matched ? std::stoull(one[4]) : 1;
    Variable& variable = found[one[3]];
    variable = {.bytes = element * count, .is_managed = one[1].matched};
    if (one[5] == "=")
      variable.initial = values_in({one[5].second, text.end()}, element).substr(0, variable.bytes);
  }
  return found;
}

}  // namespace

std::size_t image_bytes(const void* image) {
  const auto* const start = static_cast<const char*>(image);
  if (is_text(start)) return std::strlen(start);
  if (!is_elf(start)) return 0;
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  std::size_t end = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, start + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_NOBITS) continue;
    end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

Variables variables_of(std::string_view image) {
  if (image.size() >= sizeof(Elf64_Ehdr) && is_elf(image.data())) return variables_of_elf(image);
  if (image.empty() || !is_text(std::string(image.substr(0, 4096)).c_str())) return {};
  return variables_of_text(image);
}

}  // namespace vramscope::simulator
