// Replaces functions in one library's import table.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/library_guards.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "allocator/base/on_valgrind.h"
#include "reporter/record/stack/safe_read.h"

namespace vramscope {

namespace {

constexpr rlim_t kTop = 1024;  // what select() and most limits allow
constexpr rlim_t kRoom = 32;   // numbers left for other tools with the same idea

int plain_close(int file) { return static_cast<int>(syscall(SYS_close, file)); }

void raise_descriptor(int& descriptor, int lowest) {
  const int raised = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  if (raised < 0) return;
  plain_close(descriptor);  // some libraries make their pipe in a thread's first walk
  descriptor = raised;
}

int raised_pipe2(int* ends, int flags) {
  if (pipe2(ends, flags) != 0) return -1;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * kRoom) return 0;
  const auto lowest = static_cast<int>(std::min(limit.rlim_cur, kTop) - kRoom);
  raise_descriptor(ends[0], lowest);
  raise_descriptor(ends[1], lowest);
  return 0;
}

// Like the C library's functions, but without cancellation points.
ssize_t plain_read(int file, void* to, std::size_t bytes) {
  return syscall(SYS_read, file, to, bytes);
}
ssize_t plain_write(int file, const void* from, std::size_t bytes) {
  return syscall(SYS_write, file, from, bytes);
}

int plain_open(const char* path, int flags, ...) {  // for reading: without a mode
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0));
}
int plain_msync(void* begin, std::size_t bytes, int flags) {
  return static_cast<int>(syscall(SYS_msync, begin, bytes, flags));
}

// libunwind tests whether an address can be read by writing a byte from there into its pipe.
// valgrind reports that as an error of the program.
long probing_syscall(long number, ...) {
  std::array<long, 6> values{};
  va_list rest;
  va_start(rest, number);
  for (long& value : values) value = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_write && values[2] == 1) {
    return safe_read::probe_under_valgrind(reinterpret_cast<void*>(values[1]));
  }
  return syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

struct Replacement {
  const char* name;
  void* function;
};

struct Imports {
  const ElfW(Rela) * begin = nullptr;
  std::size_t bytes = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

Imports imports_of(const link_map& library) {
  Imports imports;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto* const address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_JMPREL) imports.begin = static_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) imports.bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) imports.symbols = static_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) imports.names = static_cast<const char*>(address);
  }
  return imports;
}

// The import table may be read-only, depending on how the library was linked.
void replace(void** slot, void* function) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) & ~(page_bytes - 1);
  if (mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE) == 0) {
    *slot = function;
  }
}

}  // namespace

void guard_library(void* library) noexcept {
  const std::array replacements = {
      Replacement{"pipe2", reinterpret_cast<void*>(&raised_pipe2)},
      Replacement{"read", reinterpret_cast<void*>(&plain_read)},
      Replacement{"write", reinterpret_cast<void*>(&plain_write)},
      Replacement{"open", reinterpret_cast<void*>(&plain_open)},
      Replacement{"close", reinterpret_cast<void*>(&plain_close)},
      Replacement{"msync", reinterpret_cast<void*>(&plain_msync)},
      Replacement{"syscall",
                  is_on_valgrind() ? reinterpret_cast<void*>(&probing_syscall) : nullptr},
  };
  const auto& map = *static_cast<const link_map*>(library);  // what a handle of dlopen is in glibc
  const Imports imports = imports_of(map);
  if (imports.symbols == nullptr || imports.names == nullptr) return;
  for (std::size_t i = 0; i < imports.bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& import = imports.begin[i];
    const char* name = imports.names + imports.symbols[ELF64_R_SYM(import.r_info)].st_name;
    for (const Replacement& one : replacements) {
      if (std::strcmp(name, one.name) != 0 || one.function == nullptr) continue;
      replace(reinterpret_cast<void**>(map.l_addr + import.r_offset), one.function);
    }
  }
}

}  // namespace vramscope
