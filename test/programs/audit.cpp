// A library for LD_AUDIT, as tools that watch the loader bring one: it is told of each binding.
// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED unsigned la_version(unsigned version) { return version; }

EXPORTED unsigned la_objopen(link_map*, Lmid_t, std::uintptr_t*) {
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

EXPORTED std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, std::uintptr_t*, std::uintptr_t*,
                                     unsigned*, const char*) {
  return symbol->st_value;
}
