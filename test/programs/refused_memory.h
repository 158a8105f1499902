// What refuses memory to libvramscope.so shares: whose request it is, and the functions that give
// some.
// SPDX-License-Identifier: Apache-2.0
//
// For one source of a shared object that is preloaded after us; it defines is_refused().
#pragma once

#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

std::uintptr_t begin = 0, end = 0;  // of the library

int find_library(dl_phdr_info* object, std::size_t, void*) {
  const char* const name = std::strrchr(object->dlpi_name, '/');
  if (name == nullptr || std::strcmp(name, "/libvramscope.so") != 0) return 0;
  begin = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type == PT_LOAD) end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
  }
  return 1;
}

bool is_of_library(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  return begin <= address && address < end;
}

// Whether this request of the caller for memory fails, with errno set.
bool is_refused(const void* caller);

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* malloc(std::size_t bytes) noexcept {
  return is_refused(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return is_refused(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
EXPORT void* realloc(void* memory, std::size_t bytes) noexcept {
  return is_refused(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, bytes);
}
EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return is_refused(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
EXPORT void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                  off_t offset) noexcept {
  if (is_refused(__builtin_return_address(0))) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
