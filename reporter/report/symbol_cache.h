// SymbolCache keeps what was found out about the frames of a module from one run of the tool to the
// next, in the user's folder for such things.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "reporter/ground/facts.h"
#include "reporter/report/resolved_frame.h"

namespace vramscope {

// One file a module, known by its build id and by what says that nothing changed: the files in
// which its names and lines would be looked for, by inode, size and time. What is damaged, anybody
// else's, or open to others is as if it were not there. Several may read and write at a time: a
// file appears as a whole, and the last one stays. Threads: one. Never throws but bad_alloc; what
// cannot be written is not.
class SymbolCache {
 public:
  using Answers = std::unordered_map<std::uint64_t, ResolvedFrame>;  // by offset

  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // of all files

  explicit SymbolCache(std::string folder) : folder_(std::move(folder)) {}  // "": keeps nothing

  // What a module's answers depend on; "": they cannot be kept.
  [[nodiscard]] std::string identity_of(const ModuleFact& module) const;
  // Those that were kept under that identity.
  [[nodiscard]] Answers read(const ModuleFact& module, const std::string& identity) const;
  // Keeps them, mode 0600, and removes the files that were not used for longest beyond kMostBytes.
  void write(const ModuleFact& module, const std::string& identity, const Answers& answers) const;

 private:
  std::string folder_;
};

// "vramscope/symbols" in XDG_CACHE_HOME, else in .cache of HOME; "" where neither is a full path.
[[nodiscard]] std::string symbol_cache_folder();

}  // namespace vramscope
