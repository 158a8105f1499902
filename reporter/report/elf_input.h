// look_at_elf() decides whether a file may be given to libdw, which unpacks compressed sections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

enum class ElfFile : std::uint8_t {
  fine,
  none,      // not a regular file, or not an ELF file (a compressed ELF file is not one)
  too_large  // its compressed sections unpack to more than 64 MiB and 16 times its size
};

// Examines an open file. `descriptor` stays open.
[[nodiscard]] ElfFile look_at_elf(int descriptor);

// Opens a regular file for reading. Returns a descriptor, which the caller closes, or -1. Anybody
// may have chosen the path: the function never waits for a device or pipe, and opens nothing in the
// tool's current folder.
[[nodiscard]] int open_regular(const std::string& path);

// Returns whether libdwfl, which opens files next to a module, would meet a device or a pipe there.
// file: the module; link: the name of its debug file, "" if it names none.
[[nodiscard]] bool is_beside_pipe(const std::string& file, const std::string& link);

}  // namespace vramscope
