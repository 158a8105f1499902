// A MappedObject is a program or library as the loader has mapped it, with the tables of its
// dynamic section.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <link.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vramscope {

struct MappedObject {
  std::string path;                             // "": the program itself
  std::uintptr_t base = 0, begin = 0, end = 0;  // the end is the first address behind it
  const ElfW(Dyn) * dynamic = nullptr;          // null: it has none
  [[nodiscard]] bool contains(std::uintptr_t address) const {
    return address >= begin && address < end;
  }
};

struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::array<const ElfW(Rela)*, 2> relocations{};  // of functions that are called; all others
  std::array<std::size_t, 2> bytes{};              // of the relocations
  std::size_t relative = 0;  // number of the first entries of relocations[1], without a symbol
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

// For dl_iterate_phdr, under whose lock the object stays mapped. May throw bad_alloc.
[[nodiscard]] MappedObject described(const dl_phdr_info& info);

// Tables that the object lacks are null. The object must have a dynamic section.
[[nodiscard]] DynamicTables tables_of(const MappedObject& object);

// Returns the symbols that others may bind to, and those before them; none if the object has no
// hash table, which alone says how many there are.
[[nodiscard]] std::span<const ElfW(Sym)> symbols_in(const DynamicTables& tables);

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool is_read = false, is_written = false, is_code = false;
  std::string path;  // of the file; "": of none
};

// Returns the mappings of this process, or what could be read of them. May throw bad_alloc.
[[nodiscard]] std::vector<Mapping> mappings();

}  // namespace vramscope
