// ElfProgram reads of a program's file, or a library's, what decides whether a profiler is loaded
// into it and what it finds there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gelf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Threads: one.
class ElfProgram {
 public:
  // nullopt: it cannot be opened, or is no ELF file.
  [[nodiscard]] static std::optional<ElfProgram> open(const std::string& path);

  [[nodiscard]] bool is_native() const;            // for own_machine(), with 64 bits
  [[nodiscard]] bool is_narrow() const;            // for x86, with 32 bits
  [[nodiscard]] bool is_cut_short() const;         // the file ends before what its headers name
  [[nodiscard]] std::string machine() const;       // "AArch64", "machine 22"
  [[nodiscard]] static std::string own_machine();  // that the tool is for
  [[nodiscard]] std::string loader() const;        // that it asks for; "": it is linked statically
  [[nodiscard]] std::vector<std::string> needed() const;  // names of libraries, as linked
  // Of the loader's table, in its order: texts of that tag (DT_NEEDED, DT_RPATH, DT_RUNPATH,
  // DT_SONAME), and the first number; 0: it has none.
  [[nodiscard]] std::vector<std::string> dynamic_texts(std::int64_t tag) const;
  [[nodiscard]] std::uint64_t dynamic_number(std::int64_t tag) const;
  // Versions of symbols: those it needs, of which library, and those that it defines itself.
  struct VersionNeed {
    std::string library;
    std::string version;
    bool is_weak = false;  // it starts without
  };
  [[nodiscard]] std::vector<VersionNeed> versions_needed() const;
  [[nodiscard]] std::vector<std::string> versions_defined() const;
  [[nodiscard]] bool has_section(std::string_view name) const;
  // Whether its constants have the text.
  [[nodiscard]] bool mentions(std::string_view text) const;
  // Whether others can call a function of that name in it.
  [[nodiscard]] bool exports(std::string_view function) const;
  // What the note of that owner says, a text; "": it has none.
  [[nodiscard]] std::string note(std::string_view owner) const;

 private:
  struct Close {
    int file = -1;
    void operator()(Elf* elf) const;
  };
  // Visits sections until `found` says true; whether it did.
  using Visit = std::function<bool(Elf_Scn*, const GElf_Shdr&)>;
  bool any_section(const Visit& found) const;
  // Of the loader's table, until `found` says true; the text is that of the number, where it is
  // one.
  using VisitEntry = std::function<bool(const GElf_Dyn&, const char* text)>;
  void any_entry(const VisitEntry& found) const;
  [[nodiscard]] std::string_view name_of(const GElf_Shdr& header) const;

  ElfProgram(std::unique_ptr<Elf, Close> elf, const GElf_Ehdr& head)
      : elf_(std::move(elf)), head_(head) {}
  std::unique_ptr<Elf, Close> elf_;
  GElf_Ehdr head_;
};

}  // namespace vramscope
