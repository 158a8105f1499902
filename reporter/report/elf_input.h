// look_at_elf() tells whether a file may be given to libdw, which unpacks what is compressed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

enum class ElfFile : std::uint8_t {
  fine,
  none,      // no regular file, or no ELF file: a compressed one neither
  too_large  // its compressed sections unpack to more than 64 MiB and 16 times its size
};

// `descriptor` stays open.
[[nodiscard]] ElfFile look_at_elf(int descriptor);

// A descriptor of the file, which the caller closes; -1: there is none, or it is no regular file.
// The path may be anybody's: no device or pipe is waited for, and nothing is opened in the folder
// that the tool happens to run in.
[[nodiscard]] int open_regular(const std::string& path);

// Whether libdwfl, which opens what it finds beside a module, would come upon a device or a pipe
// there. `file`: the module; `link`: the debug file's name by the module, "" when it names none.
[[nodiscard]] bool is_beside_pipe(const std::string& file, const std::string& link);

}  // namespace vramscope
