// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/redirect/jumps.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "test/simulator/device/refused_program.h"
#include "test/simulator/redirect/first_call.h"

namespace vramscope::simulator {
namespace {

struct Functions {
  std::string library;
  std::vector<std::string> names;
  std::atomic<const void*>* slots = nullptr;
};

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t in_pages(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

// The bytes from the first function to the last one.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Range range_of(const std::vector<RuntimeFunction>& functions, std::uintptr_t base) {
  Range range{UINTPTR_MAX, 0};
  for (const RuntimeFunction& one : functions) {
    range.begin = std::min(range.begin, base + one.address);
    range.end = std::max(range.end, base + one.address + one.room);
  }
  return range;
}

// Memory that every jump of the range reaches; nullptr: there is none. It is looked for below the
// object first: above it a program's heap may want to grow.
std::byte* map_near(const Range& range, std::size_t bytes) {
  constexpr std::uintptr_t kStep = std::uintptr_t{1} << 20;
  const auto reach = static_cast<std::uintptr_t>(kJumpReach) - kStep;
  const auto try_at = [&](std::uintptr_t place) -> std::byte* {
    void* const wanted = reinterpret_cast<void*>(place / page_bytes() * page_bytes());
    void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    if (got == wanted) return static_cast<std::byte*>(got);
    munmap(got, bytes);  // an old kernel took the address for a hint
    return nullptr;
  };
  const std::uintptr_t least = range.end > reach ? range.end - reach : kStep;
  for (std::uintptr_t at = range.begin; at > least + bytes + kStep; at -= kStep) {
    if (std::byte* const got = try_at(at - kStep - bytes)) return got;
  }
  for (std::uintptr_t at = range.begin + reach - bytes; at > range.end + kStep; at -= kStep) {
    if (std::byte* const got = try_at(at)) return got;
  }
  return nullptr;
}

// Fills the pages beside the object: what hands over, a piece for each function, and their slots.
struct Pieces {
  std::byte* first = nullptr;  // of the first function; nullptr: there was no memory
};
Pieces make_pieces(const std::vector<RuntimeFunction>& functions, const Range& range,
                   const std::string& library) {
  const std::size_t code = in_pages((functions.size() + 2) * kPieceBytes);
  const std::size_t data = in_pages(functions.size() * sizeof(void*));
  std::byte* const memory = map_near(range, code + data);
  if (memory == nullptr) return {};
  auto* const all = new Functions{library, {}, nullptr};  // as long as the program: it may call
  all->slots = reinterpret_cast<std::atomic<const void*>*>(memory + code);
  write_first_call(memory, all);
  std::byte* const first = memory + 2 * kPieceBytes;
  std::byte* piece = first;
  for (const RuntimeFunction& one : functions) {
    const auto number = static_cast<std::uint32_t>(all->names.size());
    all->slots[number] = write_piece(piece, number, &all->slots[number], memory);
    all->names.push_back(one.name);
    piece += kPieceBytes;
  }
  __builtin___clear_cache(reinterpret_cast<char*>(memory), reinterpret_cast<char*>(piece));
  if (mprotect(memory, code, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, code + data);
    return {};
  }
  return {first};
}

}  // namespace

std::string redirect(const std::vector<RuntimeFunction>& functions, std::uintptr_t base,
                     const std::string& library) {
  const Range range = range_of(functions, base);
  const Pieces pieces = make_pieces(functions, range, library);
  if (pieces.first == nullptr) return "no memory that may be executed was found beside its code";
  const std::uintptr_t begin = range.begin / page_bytes() * page_bytes();
  void* const pages = reinterpret_cast<void*>(begin);
  const std::size_t bytes = in_pages(range.end - begin);
  if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) {
    return std::string("its code cannot be changed: ") + std::strerror(errno);
  }
  const std::byte* piece = pieces.first;
  for (const RuntimeFunction& one : functions) {
    if (one.room >= kJumpBytes) {
      write_jump(reinterpret_cast<std::byte*>(base + one.address), piece);
    }
    piece += kPieceBytes;
  }
  if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0) {
    refuse_program("its code was changed and may not run any more (SELinux: execmod)");
  }
  return "";
}

std::string redirect_exports(const ExportRows& exports, std::uintptr_t base,
                             const std::string& library) {
  const std::vector<RuntimeFunction>& rows = exports.rows;
  const Range range = range_of(rows, base);
  const Pieces pieces = make_pieces(rows, range, library);
  if (pieces.first == nullptr) return "no memory that may be executed was found beside its symbols";
  const std::uintptr_t begin = range.begin / page_bytes() * page_bytes();
  void* const pages = reinterpret_cast<void*>(begin);
  const std::size_t bytes = in_pages(range.end - begin);
  if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) {
    return std::string("its symbols cannot be changed: ") + std::strerror(errno);
  }
  const std::byte* piece = pieces.first;
  for (const RuntimeFunction& one : rows) {
    auto& row = *reinterpret_cast<Elf64_Sym*>(base + one.address);
    row.st_value = reinterpret_cast<std::uintptr_t>(piece) - base;  // which the loader adds
    piece += kPieceBytes;
  }
  if (mprotect(pages, bytes, exports.rights) != 0) {
    refuse_program("its symbols were changed and may not be used any more (SELinux: execmod)");
  }
  return "";
}

}  // namespace vramscope::simulator

// Several threads may ask for the same: each finds the same address. No lock is held, as the loader
// has its own, and a constructor may come here with it.
void* vramscope_resolve(void* functions, std::uint64_t number) {
  using vramscope::simulator::refuse_program;
  auto& all = *static_cast<vramscope::simulator::Functions*>(functions);
  void* const handle = dlmopen(LM_ID_BASE, all.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const found = handle == nullptr ? nullptr : dlsym(handle, all.names[number].c_str());
  if (found == nullptr) refuse_program(dlerror());
  all.slots[number] = found;
  return found;
}
