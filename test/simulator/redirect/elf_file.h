// ElfFile is a file on disk that the loader has mapped, or one with the symbols of such a file. It
// has the functions of its symbol tables and the position of its code.
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

// A function of a symbol table. The address is that in the file, without the loader's base.
struct ElfFunction {
  std::string_view name;  // lives as long as the ElfFile
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as in the table; 0 if it does not say
  std::uint64_t place = 0;  // the address of its row; 0 if the table is not mapped
};

// Threads: one. Everything in the file is checked against its size; a table outside of it counts as
// missing.
class ElfFile {
 public:
  // Returns nullopt if the file cannot be read, or is not a 64-bit ELF file of this machine.
  [[nodiscard]] static std::optional<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) noexcept;
  ~ElfFile();

  // Returns the functions in .symtab (SHT_SYMTAB) or .dynsym (SHT_DYNSYM); empty if there is no
  // such table.
  [[nodiscard]] std::vector<ElfFunction> functions(std::uint32_t table) const;
  // Returns the program headers, as in the file.
  [[nodiscard]] std::span<const Elf64_Phdr> segments() const;
  // Returns the bytes of the file from an address to the end of its segment; empty if no segment
  // has it.
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t address) const;
  // Returns the build id in lower-case hexadecimal digits, "5a01...", or "".
  [[nodiscard]] std::string build_id() const;
  // Returns the name in .gnu_debuglink, or "".
  [[nodiscard]] std::string debug_link() const;

 private:
  ElfFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  // Returns the rows of a table in the file; empty if it lies outside or is misaligned.
  template <typename Row>
  [[nodiscard]] std::span<const Row> rows(std::uint64_t offset, std::uint64_t count) const;
  [[nodiscard]] const Elf64_Ehdr& head() const;
  [[nodiscard]] std::span<const Elf64_Shdr> sections() const;
  // Returns a text of a text table; "" if it lies outside.
  [[nodiscard]] std::string_view text(const Elf64_Shdr& table, std::uint64_t offset) const;

  const std::byte* data_;
  std::size_t size_;
};

}  // namespace vramscope::simulator
