// ElfFile is a file on disk that the loader has mapped, or one with the symbols of such a file. It
// gives the functions of its symbol tables and where its code lies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope::simulator {

// A function of a symbol table. The address is that in the file, before the loader adds its own.
struct ElfFunction {
  std::string_view name;  // lives as long as the ElfFile
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as the table says; 0 where it does not
};

// Threads: one. Whatever the file says is checked against its size: a table that lies outside of it
// counts as none.
class ElfFile {
 public:
  // nullopt: it cannot be read, or it is no ELF file of this machine with 64 bits.
  [[nodiscard]] static std::optional<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) noexcept;
  ~ElfFile();

  // Of .symtab (SHT_SYMTAB) or .dynsym (SHT_DYNSYM); empty: there is no such table.
  [[nodiscard]] std::vector<ElfFunction> functions(std::uint32_t table) const;
  // Its program headers, as the file has them.
  [[nodiscard]] std::span<const Elf64_Phdr> segments() const;
  // The bytes of the file from an address on, up to the end of their segment; empty: none has it.
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t address) const;
  // "5a01...": the build id in lower-case hexadecimal digits; "": there is none.
  [[nodiscard]] std::string build_id() const;
  // The name in .gnu_debuglink; "": there is none.
  [[nodiscard]] std::string debug_link() const;

 private:
  ElfFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  // Rows of a table in the file; empty: it lies outside, or badly.
  template <typename Row>
  [[nodiscard]] std::span<const Row> rows(std::uint64_t offset, std::uint64_t count) const;
  [[nodiscard]] const Elf64_Ehdr& head() const;
  [[nodiscard]] std::span<const Elf64_Shdr> sections() const;
  // A text in a table of texts; "": it lies outside.
  [[nodiscard]] std::string_view text(const Elf64_Shdr& table, std::uint64_t offset) const;

  const std::byte* data_;
  std::size_t size_;
};

}  // namespace vramscope::simulator
