// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/mapped_object.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace vramscope {
namespace {

// The loader has added the base to the addresses, except in objects with a read-only table.
template <class T>
const T* address_in(const MappedObject& object, const ElfW(Dyn) & entry) {
  std::uintptr_t address = entry.d_un.d_ptr;
  if (address < object.base) address += object.base;
  return object.contains(address) ? reinterpret_cast<const T*>(address) : nullptr;
}

// The table (DT_GNU_HASH) begins with four numbers: of buckets, of symbols that it leaves out, of
// words of its filter, and a shift. Each bucket names the first symbol of a chain, whose last one
// is marked by the lowest bit.
std::size_t count_by_gnu_hash(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0];
  const std::uint32_t left_out = table[1];
  const std::uint32_t* const first = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* const chains = first + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i) last = std::max(last, first[i]);
  if (last < left_out) return left_out;
  while ((chains[last - left_out] & 1) == 0) ++last;
  return last + 1;
}

// Uses /proc/thread-self, because /proc/self is empty after the main thread has ended.
std::string mappings_text() {
  std::string text;
  const int file = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 1 << 14> part{};
  for (ssize_t got; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

}  // namespace

MappedObject described(const dl_phdr_info& info) {
  MappedObject object;
  object.path = info.dlpi_name;
  object.base = info.dlpi_addr;
  object.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
    if (header.p_type != PT_LOAD) continue;
    object.begin = std::min(object.begin, at);
    object.end = std::max(object.end, at + header.p_memsz);
  }
  return object;
}

DynamicTables tables_of(const MappedObject& object) {
  DynamicTables found;
  for (const ElfW(Dyn)* entry = object.dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) found.symbols = address_in<ElfW(Sym)>(object, *entry);
    if (entry->d_tag == DT_STRTAB) found.names = address_in<char>(object, *entry);
    if (entry->d_tag == DT_JMPREL) found.relocations[0] = address_in<ElfW(Rela)>(object, *entry);
    if (entry->d_tag == DT_PLTRELSZ) found.bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) found.relocations[1] = address_in<ElfW(Rela)>(object, *entry);
    if (entry->d_tag == DT_RELASZ) found.bytes[1] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELACOUNT) found.relative = entry->d_un.d_val;
    if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = address_in<std::uint32_t>(object, *entry);
    if (entry->d_tag == DT_HASH) found.hash = address_in<std::uint32_t>(object, *entry);
  }
  return found;
}

std::span<const ElfW(Sym)> symbols_in(const DynamicTables& tables) {
  if (tables.symbols == nullptr) return {};
  // The second number of DT_HASH is that of symbols.
  if (tables.hash != nullptr) return {tables.symbols, tables.hash[1]};
  if (tables.gnu_hash != nullptr) return {tables.symbols, count_by_gnu_hash(tables.gnu_hash)};
  return {};
}

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  const std::string text = mappings_text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    Mapping found;
    std::array<char, 5> rights{};
    const int fields =
        std::sscanf(line.c_str(), "%lx-%lx %4s", &found.begin, &found.end, rights.data());
    if (fields != 3) continue;
    found.is_read = rights[0] == 'r';
    found.is_written = rights[1] == 'w';
    found.is_code = rights[2] == 'x';
    const std::size_t path = line.find('/');
    if (path != line.npos) found.path = line.substr(path);
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace vramscope
