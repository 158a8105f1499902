// Symbols of ELF files and declarations of PTX, as far as variables go.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/module_image.h"

#include <elf.h>

#include <cstring>
#include <regex>

#include "test/simulator/device/image_bytes.h"

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

std::string name_at(std::string_view image, std::uint64_t at) {
  if (at >= image.size()) return {};
  const std::string_view rest = image.substr(at);
  return std::string(rest.substr(0, rest.find('\0')));
}

void add_symbols(std::string_view image, const Elf64_Shdr& symbols, const Elf64_Shdr& names,
                 Variables& found) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(image, symbols.sh_offset + at);
    if (!symbol) return;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0) continue;
    found[name_at(image, names.sh_offset + symbol->st_name)] = symbol->st_size;
  }
}

Variables variables_of_elf(std::string_view image) {
  Variables found;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return found;
  const auto section = [&](std::uint64_t index) {
    return read_at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto symbols = section(i);
    if (!symbols || symbols->sh_type != SHT_SYMTAB) continue;
    if (const auto names = section(symbols->sh_link)) add_symbols(image, *symbols, *names, found);
  }
  return found;
}

// .visible .const .align 8 .b8 name[4096];    .global .u32 name = 1;
Variables variables_of_text(std::string_view text) {
  static const auto& kDeclaration = *new std::regex(
      R"(\.(?:global|const)\b[^;{}()]*\.[bufs](8|16|32|64)\s+([\w$%]+)\s*(?:\[(\d+)\])?\s*(?=[;=]))");
  Variables found;
  for (std::cregex_iterator next(text.begin(), text.end(), kDeclaration), end; next != end;
       ++next) {
    const std::uint64_t element = std::stoull((*next)[1]) / 8;
    const std::uint64_t count = (*next)[3].matched ? std::stoull((*next)[3]) : 1;
    found[(*next)[2]] = element * count;
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

void leave_logs_empty(unsigned count, const CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  for (unsigned i = 0; i < count; ++i) {
    const CUjit_option option = options[i];
    const bool is_size =
        option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    const bool is_log = option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
    if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    if (is_size) values[i] = nullptr;  // bytes written
  }
}

}  // namespace vramscope::simulator
