// Reads an ELF file by the format's public description (System V ABI, chapters 4 and 5).
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/redirect/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace vramscope::simulator {
namespace {

#ifdef __aarch64__
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_X86_64;
#endif

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte one : bytes) {
    text += kDigits[static_cast<unsigned>(one) >> 4];
    text += kDigits[static_cast<unsigned>(one) & 15U];
  }
  return text;
}

}  // namespace

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat facts {};
  void* data = MAP_FAILED;
  if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
      static_cast<std::size_t>(facts.st_size) > sizeof(Elf64_Ehdr)) {
    data = mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (data == MAP_FAILED) return std::nullopt;
  ElfFile made(static_cast<const std::byte*>(data), static_cast<std::size_t>(facts.st_size));
  const Elf64_Ehdr& head = made.head();
  const bool is_ours = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                       head.e_ident[EI_CLASS] == ELFCLASS64 &&
                       head.e_ident[EI_DATA] == ELFDATA2LSB && head.e_machine == kMachine;
  return is_ours ? std::optional<ElfFile>(std::move(made)) : std::nullopt;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

ElfFile& ElfFile::operator=(ElfFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ElfFile::~ElfFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

const Elf64_Ehdr& ElfFile::head() const { return *reinterpret_cast<const Elf64_Ehdr*>(data_); }

template <typename Row>
std::span<const Row> ElfFile::rows(std::uint64_t offset, std::uint64_t count) const {
  const bool is_inside = offset <= size_ && count <= (size_ - offset) / sizeof(Row);
  if (!is_inside || offset % alignof(Row) != 0) return {};
  return {reinterpret_cast<const Row*>(data_ + offset), count};
}

std::span<const Elf64_Shdr> ElfFile::sections() const {
  if (head().e_shentsize != sizeof(Elf64_Shdr)) return {};
  return rows<Elf64_Shdr>(head().e_shoff, head().e_shnum);
}

std::span<const Elf64_Phdr> ElfFile::segments() const {
  if (head().e_phentsize != sizeof(Elf64_Phdr)) return {};
  return rows<Elf64_Phdr>(head().e_phoff, head().e_phnum);
}

std::string_view ElfFile::text(const Elf64_Shdr& table, std::uint64_t offset) const {
  const auto all = rows<char>(table.sh_offset, table.sh_size);
  if (offset >= all.size()) return {};
  return {all.data() + offset, strnlen(all.data() + offset, all.size() - offset)};
}

std::vector<ElfFunction> ElfFile::functions(std::uint32_t table) const {
  std::vector<ElfFunction> found;
  for (const Elf64_Shdr& section : sections()) {
    if (section.sh_type != table || section.sh_link >= sections().size()) continue;
    const Elf64_Shdr& names = sections()[section.sh_link];
    std::uint64_t place = section.sh_addr;
    for (const Elf64_Sym& symbol :
         rows<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      const bool is_mapped = at(place).data() == reinterpret_cast<const std::byte*>(&symbol);
      const std::uint64_t own = is_mapped ? place : 0;
      place += sizeof(Elf64_Sym);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      found.push_back({text(names, symbol.st_name), symbol.st_value, symbol.st_size, own});
    }
  }
  return found;
}

std::span<const std::byte> ElfFile::at(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments()) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t into = address - segment.p_vaddr;
    if (into >= segment.p_filesz) continue;
    return rows<std::byte>(segment.p_offset + into, segment.p_filesz - into);
  }
  return {};
}

std::string ElfFile::build_id() const {
  for (const Elf64_Phdr& segment : segments()) {
    if (segment.p_type != PT_NOTE) continue;
    auto left = rows<std::byte>(segment.p_offset, segment.p_filesz);
    while (left.size() >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note;
      std::memcpy(&note, left.data(), sizeof note);
      const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
      const std::uint64_t name = padded(note.n_namesz);
      const std::uint64_t whole = sizeof note + name + padded(note.n_descsz);
      if (whole > left.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
          std::memcmp(left.data() + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
        return hexadecimal(left.subspan(sizeof note + name, note.n_descsz));
      }
      left = left.subspan(whole);
    }
  }
  return "";
}

std::string ElfFile::debug_link() const {
  if (head().e_shstrndx >= sections().size()) return "";
  const Elf64_Shdr& names = sections()[head().e_shstrndx];
  for (const Elf64_Shdr& section : sections()) {
    if (text(names, section.sh_name) == ".gnu_debuglink") return std::string(text(section, 0));
  }
  return "";
}

}  // namespace vramscope::simulator
