// Reads with elfutils' libelf, which checks what a damaged file claims.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/elf_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace vramscope {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 16;  // of one table; more is no library's

// A place so many bytes behind another, of what a file says: wrong ones are refused by libelf.
int behind(int at, GElf_Word bytes) { return static_cast<int>(static_cast<unsigned>(at) + bytes); }

std::string_view content_of(Elf_Data* data) {
  if (data == nullptr || data->d_buf == nullptr) return "";
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

std::string up_to_zero(std::string_view text) {
  return std::string(text.substr(0, text.find('\0')));
}

#ifdef __aarch64__
constexpr unsigned kOwnMachine = EM_AARCH64;
#else
constexpr unsigned kOwnMachine = EM_X86_64;
#endif

// Those that CUDA exists, or existed, for.
std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86 with 32 bits";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "ARM with 32 bits";
    case EM_PPC64:
      return "POWER";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace

void ElfProgram::Close::operator()(Elf* elf) const {
  elf_end(elf);
  ::close(file);
}

std::optional<ElfProgram> ElfProgram::open(const std::string& path) {
  elf_version(EV_CURRENT);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (file < 0) return std::nullopt;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return std::nullopt;
  }
  std::unique_ptr<Elf, Close> elf(elf_begin(file, ELF_C_READ_MMAP, nullptr), Close{file});
  if (!elf) ::close(file);
  GElf_Ehdr head;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &head) == nullptr) {
    return std::nullopt;
  }
  return ElfProgram(std::move(elf), head);
}

bool ElfProgram::is_native() const {
  return head_.e_ident[EI_CLASS] == ELFCLASS64 && head_.e_machine == kOwnMachine;
}

bool ElfProgram::is_narrow() const {
  return head_.e_ident[EI_CLASS] == ELFCLASS32 && head_.e_machine == EM_386;
}

bool ElfProgram::is_cut_short() const {
  std::size_t bytes = 0;
  std::size_t count = 0;
  if (elf_rawfile(elf_.get(), &bytes) == nullptr || elf_getphdrnum(elf_.get(), &count) != 0) {
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) return true;
    if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset) return true;
  }
  return false;
}

std::string ElfProgram::machine() const { return machine_name(head_.e_machine); }

std::string ElfProgram::own_machine() { return machine_name(kOwnMachine); }

std::string ElfProgram::loader() const {
  std::size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0) return "";
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) return "";
    if (segment.p_type != PT_INTERP) continue;
    const auto offset = static_cast<std::int64_t>(segment.p_offset);
    return up_to_zero(
        content_of(elf_getdata_rawchunk(elf_.get(), offset, segment.p_filesz, ELF_T_BYTE)));
  }
  return "";
}

bool ElfProgram::any_section(const Visit& found) const {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && found(section, header)) return true;
  }
  return false;
}

std::string_view ElfProgram::name_of(const GElf_Shdr& header) const {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return "";
  const char* const name = elf_strptr(elf_.get(), names, header.sh_name);
  return name == nullptr ? "" : name;
}

void ElfProgram::any_entry(const VisitEntry& found) const {
  any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_DYNAMIC) return false;
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Dyn entry;
    for (int i = 0; gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
      if (found(entry, elf_strptr(elf_.get(), header.sh_link, entry.d_un.d_val))) break;
    }
    return true;
  });
}

std::vector<std::string> ElfProgram::needed() const { return dynamic_texts(DT_NEEDED); }

std::vector<std::string> ElfProgram::dynamic_texts(std::int64_t tag) const {
  std::vector<std::string> texts;
  any_entry([&](const GElf_Dyn& entry, const char* text) {
    if (entry.d_tag == tag && text != nullptr) texts.emplace_back(text);
    return texts.size() >= kMostEntries;
  });
  return texts;
}

std::uint64_t ElfProgram::dynamic_number(std::int64_t tag) const {
  std::uint64_t number = 0;
  any_entry([&](const GElf_Dyn& entry, const char*) {
    if (entry.d_tag == tag) number = entry.d_un.d_val;
    return entry.d_tag == tag;
  });
  return number;
}

std::vector<ElfProgram::VersionNeed> ElfProgram::versions_needed() const {
  std::vector<VersionNeed> needs;
  any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_GNU_verneed) return false;
    Elf_Data* const data = elf_getdata(section, nullptr);
    const auto text = [&](std::size_t at) {
      const char* const found = elf_strptr(elf_.get(), header.sh_link, at);
      return std::string(found == nullptr ? "" : found);
    };
    GElf_Verneed library;
    GElf_Vernaux version;
    std::size_t steps = 0;
    for (int at = 0; gelf_getverneed(data, at, &library) != nullptr;) {
      int of = behind(at, library.vn_aux);
      while (++steps < kMostEntries && gelf_getvernaux(data, of, &version) != nullptr) {
        const bool is_weak = (version.vna_flags & VER_FLG_WEAK) != 0;
        needs.push_back({text(library.vn_file), text(version.vna_name), is_weak});
        if (version.vna_next == 0) break;
        of = behind(of, version.vna_next);
      }
      if (library.vn_next == 0 || steps >= kMostEntries) break;
      at = behind(at, library.vn_next);
    }
    return true;
  });
  return needs;
}

std::vector<std::string> ElfProgram::versions_defined() const {
  std::vector<std::string> versions;
  any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_GNU_verdef) return false;
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Verdef definition;
    GElf_Verdaux name;
    for (int at = 0; versions.size() < kMostEntries; at = behind(at, definition.vd_next)) {
      if (gelf_getverdef(data, at, &definition) == nullptr) break;
      const int of = behind(at, definition.vd_aux);
      if (gelf_getverdaux(data, of, &name) == nullptr) break;
      const char* const text = elf_strptr(elf_.get(), header.sh_link, name.vda_name);
      versions.emplace_back(text == nullptr ? "" : text);
      if (definition.vd_next == 0) break;
    }
    return true;
  });
  return versions;
}

bool ElfProgram::has_section(std::string_view name) const {
  return any_section([&](Elf_Scn*, const GElf_Shdr& header) { return name_of(header) == name; });
}

bool ElfProgram::mentions(std::string_view text) const {
  return any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    constexpr GElf_Xword kCode = SHF_EXECINSTR;
    if (header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_ALLOC) == 0) return false;
    if ((header.sh_flags & kCode) != 0 || name_of(header) == ".nv_fatbin") return false;
    return content_of(elf_rawdata(section, nullptr)).find(text) != std::string_view::npos;
  });
}

bool ElfProgram::exports(std::string_view function) const {
  return any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_DYNSYM) return false;
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 1; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const char* const name = elf_strptr(elf_.get(), header.sh_link, symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && name != nullptr && function == name) return true;
    }
    return false;
  });
}

std::string ElfProgram::note(std::string_view owner) const {
  std::string text;
  any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_NOTE) return false;
    Elf_Data* const data = elf_getdata(section, nullptr);
    const std::string_view all = content_of(data);
    GElf_Nhdr head;
    std::size_t name = 0, content = 0, next = 0;
    for (std::size_t at = 0; (next = gelf_getnote(data, at, &head, &name, &content)) > 0;
         at = next) {
      if (up_to_zero(all.substr(name, head.n_namesz)) != owner) continue;
      text = up_to_zero(all.substr(content, head.n_descsz));
      return true;
    }
    return false;
  });
  return text;
}

}  // namespace vramscope
