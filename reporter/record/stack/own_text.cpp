// Asks the loader which executable segment contains an address.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/own_text.h"

#include <link.h>

namespace vramscope {

namespace {

struct Search {
  std::uintptr_t code;
  TextRange found;
};

int look_into(dl_phdr_info* object, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    const TextRange range{begin, begin + header.p_memsz};
    if (!range.contains(search.code)) continue;
    search.found = range;
    return 1;
  }
  return 0;
}

}  // namespace

TextRange text_range_of(const void* code) noexcept {
  Search search{.code = reinterpret_cast<std::uintptr_t>(code), .found = {}};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

}  // namespace vramscope
