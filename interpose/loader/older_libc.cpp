// Lets a library that was built with a new C library load on an older one. The compiler's static
// libraries, and libevent's, need three functions that glibc has since 2.35 and 2.36, and headers
// since 2.38 map functions that parse numbers to new names. These hidden definitions serve our
// library, so that it needs no glibc newer than 2.34.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/types.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#ifdef DLFO_EH_SEGMENT_TYPE  // glibc 2.35: libgcc's unwinder finds unwind tables with it
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

bool contains(const dl_phdr_info& object, const ElfW(Phdr) & segment, std::uintptr_t address) {
  const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
  return segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz;
}

// Returns 1, which ends the search, if the object contains the address.
int look_at(dl_phdr_info* object, std::size_t, void* context) {
  const Search& search = *static_cast<Search*>(context);
  bool found = false;
  void* unwind_table = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    found = found || contains(*object, segment, search.address);
    if (segment.p_type == DLFO_EH_SEGMENT_TYPE) {
      unwind_table = reinterpret_cast<void*>(object->dlpi_addr + segment.p_vaddr);
    }
  }
  if (found) search.result->dlfo_eh_frame = unwind_table;
  return found && unwind_table != nullptr ? 1 : 0;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(
    void* address, dl_find_object* result) noexcept {
  Search search = {reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}
#endif

// libevent, which the tool has, pulls it in. Our code does not call it.
extern "C" __attribute__((visibility("hidden"))) void arc4random_buf(void* to,
                                                                     std::size_t bytes) noexcept {
  for (std::size_t filled = 0; filled < bytes;) {
    const ssize_t got = getrandom(static_cast<char*>(to) + filled, bytes - filled, 0);
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
}

// libstdc++'s strings pull it in (by std::random_device). Our code does not call it.
extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) return 0;
  return value;
}

// The names before C23, which only adds numbers that begin with "0b". Our code reads no such
// numbers.
extern "C" {
long earlier_strtol(const char*, char**, int) __asm__("strtol");
long long earlier_strtoll(const char*, char**, int) __asm__("strtoll");
unsigned long earlier_strtoul(const char*, char**, int) __asm__("strtoul");
unsigned long long earlier_strtoull(const char*, char**, int) __asm__("strtoull");
int earlier_vsscanf(const char*, const char*, va_list) __asm__("vsscanf");

__attribute__((visibility("hidden"))) long __isoc23_strtol(const char* text, char** end, int base) {
  return earlier_strtol(text, end, base);
}
__attribute__((visibility("hidden"))) long long __isoc23_strtoll(const char* text, char** end,
                                                                 int base) {
  return earlier_strtoll(text, end, base);
}
__attribute__((visibility("hidden"))) unsigned long __isoc23_strtoul(const char* text, char** end,
                                                                     int base) {
  return earlier_strtoul(text, end, base);
}
__attribute__((visibility("hidden"))) unsigned long long __isoc23_strtoull(const char* text,
                                                                           char** end, int base) {
  return earlier_strtoull(text, end, base);
}
__attribute__((visibility("hidden"))) int __isoc23_sscanf(const char* text, const char* format,
                                                          ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = earlier_vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}
}
