// SymbolCache keeps the symbols found for the frames of a module between runs of the tool, in the
// user's cache folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "reporter/base/facts.h"
#include "reporter/report/resolved_frame.h"

namespace vramscope {

// There is one file for each module, identified by its build id and by the files in which its names
// and lines would be looked for, by inode, size and time. A file that is damaged, belongs to
// somebody else or is open to others counts as absent. Several processes may read and write: a file
// appears as a whole, and the last one stays. Threads: one. Never throws except bad_alloc. If a
// file cannot be written, nothing is kept.
class SymbolCache {
 public:
  using Answers = std::unordered_map<std::uint64_t, ResolvedFrame>;  // by offset

  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // of all files together

  explicit SymbolCache(std::string folder) : folder_(std::move(folder)) {}  // "": keeps nothing

  // Returns what a module's answers depend on, or "" if they cannot be kept.
  [[nodiscard]] std::string identity_of(const ModuleFact& module) const;
  // Returns the answers that were kept under that identity.
  [[nodiscard]] Answers read(const ModuleFact& module, const std::string& identity) const;
  // Keeps the answers with mode 0600, and removes the least recently used files beyond kMostBytes.
  void write(const ModuleFact& module, const std::string& identity, const Answers& answers) const;

 private:
  std::string folder_;
};

// Returns "vramscope/symbols" in XDG_CACHE_HOME, else in .cache of HOME, or "" if neither is an
// absolute path.
[[nodiscard]] std::string symbol_cache_folder();

}  // namespace vramscope
