// ElfProgram reads from a program's or library's file what decides whether a profiler is loaded
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
  // Returns nullopt if the file cannot be opened or is not an ELF file.
  [[nodiscard]] static std::optional<ElfProgram> open(const std::string& path);

  [[nodiscard]] bool is_native() const;     // for own_machine(), 64 bits
  [[nodiscard]] bool is_narrow() const;     // for x86, 32 bits
  [[nodiscard]] bool is_cut_short() const;  // the file ends before the parts that its headers name
  [[nodiscard]] std::string machine() const;       // "AArch64", "machine 22"
  [[nodiscard]] static std::string own_machine();  // the one for which the tool was built
  [[nodiscard]] std::string loader() const;  // the loader that it asks for; "": linked statically
  [[nodiscard]] std::vector<std::string> needed() const;  // names of libraries, as linked
  // Return entries of the loader's table: texts with that tag (DT_NEEDED, DT_RPATH, DT_RUNPATH,
  // DT_SONAME) in order, and the first number with that tag, or 0.
  [[nodiscard]] std::vector<std::string> dynamic_texts(std::int64_t tag) const;
  [[nodiscard]] std::uint64_t dynamic_number(std::int64_t tag) const;
  // Versions of symbols: those that it needs, with their library, and those that it defines.
  struct VersionNeed {
    std::string library;
    std::string version;
    bool is_weak = false;  // the program starts without it
  };
  [[nodiscard]] std::vector<VersionNeed> versions_needed() const;
  [[nodiscard]] std::vector<std::string> versions_defined() const;
  [[nodiscard]] bool has_section(std::string_view name) const;
  // Returns whether its constants contain the text.
  [[nodiscard]] bool mentions(std::string_view text) const;
  // Returns whether it exports a function of that name.
  [[nodiscard]] bool exports(std::string_view function) const;
  // Returns the text of the note of that owner, or "".
  [[nodiscard]] std::string note(std::string_view owner) const;

 private:
  struct Close {
    int file = -1;
    void operator()(Elf* elf) const;
  };
  // Visits sections until `found` returns true. Returns whether it did.
  using Visit = std::function<bool(Elf_Scn*, const GElf_Shdr&)>;
  bool any_section(const Visit& found) const;
  // Visits the loader's table until `found` returns true. text: the text to which the number
  // refers, if it refers to one.
  using VisitEntry = std::function<bool(const GElf_Dyn&, const char* text)>;
  void any_entry(const VisitEntry& found) const;
  [[nodiscard]] std::string_view name_of(const GElf_Shdr& header) const;

  ElfProgram(std::unique_ptr<Elf, Close> elf, const GElf_Ehdr& head)
      : elf_(std::move(elf)), head_(head) {}
  std::unique_ptr<Elf, Close> elf_;
  GElf_Ehdr head_;
};

}  // namespace vramscope
