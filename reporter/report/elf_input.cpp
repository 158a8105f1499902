// Adds up the unpacked sizes that compressed sections name.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/elf_input.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace vramscope {

namespace {

constexpr std::uint64_t kAlwaysBearable = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostTimes =
    16;  // zlib and zstd make debug information 3 to 6 times smaller

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

bool is_regular(int descriptor, struct stat& status) {
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// ".zdebug_info" of older compilers begins with "ZLIB" and its size, highest byte first.
std::uint64_t older_size(Elf_Scn* section) {
  const Elf_Data* const raw = elf_rawdata(section, nullptr);
  constexpr std::size_t kHead = 12;
  if (raw == nullptr || raw->d_size < kHead || std::memcmp(raw->d_buf, "ZLIB", 4) != 0) return 0;
  std::uint64_t size = 0;
  for (std::size_t i = 4; i < kHead; ++i) {
    size = size << 8 | static_cast<const unsigned char*>(raw->d_buf)[i];
  }
  return size;
}

std::uint64_t unpacked_size(Elf* elf, Elf_Scn* section, std::size_t names) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr) return 0;
  GElf_Chdr compressed;
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    return gelf_getchdr(section, &compressed) == nullptr ? 0 : compressed.ch_size;
  }
  const char* const name = elf_strptr(elf, names, header.sh_name);
  const bool older = name != nullptr && std::string_view(name).starts_with(".zdebug");
  return older ? older_size(section) : 0;
}

bool is_pipe(const std::filesystem::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

ElfFile look_at_elf(int descriptor) {
  struct stat status {};
  if (!is_regular(descriptor, status)) return ElfFile::none;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, EndElf> elf(elf_begin(descriptor, ELF_C_READ_MMAP, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return ElfFile::none;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf.get(), &names) != 0) return ElfFile::fine;  // the file has no sections
  std::uint64_t left =
      std::max(kAlwaysBearable, kMostTimes * static_cast<std::uint64_t>(status.st_size));
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    const std::uint64_t size = unpacked_size(elf.get(), section, names);
    if (size > left) return ElfFile::too_large;
    left -= size;
  }
  return ElfFile::fine;
}

int open_regular(const std::string& path) {
  if (!path.starts_with('/')) return -1;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (descriptor < 0 || is_regular(descriptor, status)) return descriptor;
  ::close(descriptor);
  return -1;
}

// Checks the names that find_debuginfo_in_path() of libdwfl tries, for the module and for the
// target of its link.
bool is_beside_pipe(const std::string& file, const std::string& link) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const fs::path& module : {fs::path(file), fs::canonical(file, error)}) {
    const std::string usual = module.filename().string() + ".debug";
    const fs::path named = link.empty() ? usual : link;
    for (const fs::path& name : {named, named.filename(), module.filename()}) {
      const bool is_itself = name == module.filename();
      if (!is_itself && is_pipe(module.parent_path() / name)) return true;
      if (is_pipe(module.parent_path() / ".debug" / name)) return true;
    }
  }
  return false;
}

}  // namespace vramscope
