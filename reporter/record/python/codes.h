// PythonCodes keeps the names and line tables of the code objects that were seen. They are copied
// from the program when first seen, since they may be gone before the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/facts.h"
#include "reporter/record/python/stack.h"

namespace vramscope {

// Threads: any.
class PythonCodes {
 public:
  // The frames of a stack in order, each with its function and line but without module and offset.
  // A frame whose names cannot be read is left out of `frames`, but still ends its loop. resolve()
  // reads the code objects, so it must be called while they run. May throw bad_alloc.
  struct Frame {
    FrameFact fact;
    bool ends_loop = false;
  };
  [[nodiscard]] std::vector<Frame> resolve(std::span<const PythonFrame> frames);
  // Returns the file of each frame, "" for native ones. May throw bad_alloc.
  [[nodiscard]] std::vector<std::string> sources_of(const std::vector<FrameFact>& frames) const;
  // Copies the sources and codes from the given numbers on. May throw bad_alloc.
  void copy_to(RecorderFacts& facts, std::size_t known_sources = 0,
               std::size_t known_codes = 0) const;

 private:
  // Limits a program that makes code for ever: code objects beyond this number are read each time.
  static constexpr std::size_t kMaxSeen = std::size_t{1} << 16;
  // Limits the names of such a program: codes beyond this number are called "others".
  static constexpr std::size_t kMaxCodes = std::size_t{1} << 18;

  struct Seen {
    std::uint32_t code = 0;
    std::uint32_t first_line = 0;
    std::string lines;
  };
  struct Copied {
    std::string name;
    std::string file;
    std::uint32_t first_line = 0;
    std::string lines;
  };
  static bool copy_code(const PythonInterpreter& python, std::uintptr_t code, Copied& copied);
  Seen enter(Copied&& copied) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t code_index(const Copied& copied) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t source_index(const std::string& file) VRAMSCOPE_REQUIRES(lock_);
  bool resolve(const PythonInterpreter& python, const PythonFrame& frame, FrameFact& fact)
      VRAMSCOPE_REQUIRES(lock_);

  mutable SystemMutex lock_;
  std::vector<SourceFact> sources_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<CodeFact> codes_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<std::string, std::uint32_t> source_indices_ VRAMSCOPE_GUARDED_BY(lock_);
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> code_indices_
      VRAMSCOPE_GUARDED_BY(lock_);  // by name, source and first line
  std::unordered_map<std::uint64_t, Seen> seen_ VRAMSCOPE_GUARDED_BY(lock_);  // by identity
};

// Returns one stack of both kinds of frames. Each evaluation loop among the native frames is
// replaced by the Python frames that it runs, of which the innermost keeps the loop's address.
// Python frames of loops that the native stack does not reach come last. `native` are the frames of
// `addresses`. May throw bad_alloc.
[[nodiscard]] std::vector<FrameFact> weave(const std::vector<FrameFact>& native,
                                           std::span<const std::uintptr_t> addresses,
                                           const std::vector<PythonCodes::Frame>& python,
                                           TextRange loop);

}  // namespace vramscope
