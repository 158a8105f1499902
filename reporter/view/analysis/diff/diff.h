// differences() compares what two reports say was held: by place, owner, kind or function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/diff/stack_match.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// What is compared. A place is a call stack by the names, files and lines of its frames; a function
// is the program's innermost one.
#define VRAMSCOPE_DIFF_AXES(X) X(site) X(owner) X(kind) X(function)
VRAMSCOPE_NAMED_ENUM(DiffBy, std::uint8_t, VRAMSCOPE_DIFF_AXES);
// When: at the peak of each kind and device, when the report was made, or everything that was
// allocated.
#define VRAMSCOPE_DIFF_TIMES(X) X(peak) X(end) X(total)
VRAMSCOPE_NAMED_ENUM(DiffAt, std::uint8_t, VRAMSCOPE_DIFF_TIMES);
#define VRAMSCOPE_CHANGES(X) X(grown) X(fresh) X(shrunk) X(gone)
VRAMSCOPE_NAMED_ENUM(Change, std::uint8_t, VRAMSCOPE_CHANGES);

struct Difference {
  std::string name;  // name of an owner or function; else ""
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::string memory = {};  // for people: memory_name()
  DiffSide before;
  DiffSide after;

  [[nodiscard]] std::int64_t change() const {
    return static_cast<std::int64_t>(after.bytes) - static_cast<std::int64_t>(before.bytes);
  }
  [[nodiscard]] Change what() const;
  // Returns the frames of a place. A place that is new or gone has frames on one side only.
  [[nodiscard]] const std::vector<std::string>& frames() const {
    return after.is_there ? after.frames : before.frames;
  }
  [[nodiscard]] const SharedCallers& callers() const {
    return after.is_there ? after.callers : before.callers;
  }
  [[nodiscard]] const std::vector<std::string>& listed() const {
    return after.is_there ? after.listed() : before.listed();
  }
};

// The sum of all kinds of memory of one device, or of the host. A sum over devices and host would
// be meaningless.
struct MemorySum {
  bool is_of_device = false;
  std::uint16_t device = 0;
  std::string gpu = {};  // for people: gpu_name()
  std::size_t kinds = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  bool is_of_one_instant = true;  // false: a sum of peaks, each at its own time
  [[nodiscard]] std::int64_t change() const {
    return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  }
};

struct Differences {
  std::vector<Difference> rows;    // the largest change first; equal rows are left out
  std::vector<Difference> memory;  // the total of each kind and device, equal or not
  std::vector<MemorySum> sums;     // of `memory`, in its order
  std::size_t equal = 0;           // number of rows that were left out
  // Stacks of the first equal rows. Together with other stacks they show which frames are helpers'.
  std::vector<SharedCallers> equal_stacks = {};
  bool by_own_lines = false;  // the innermost lines of the program's own Python code are compared
  std::size_t by_functions = 0;  // number of rows, including equal ones, that only match by
                                 // functions
  std::vector<RenamedFile> renamed;
  std::uint64_t before_bytes = 0;  // of all memory
  std::uint64_t after_bytes = 0;
};

// Places of two builds of a program are equal if their functions, files and lines are equal. Of the
// remaining places, those match that differ only in lines, in the order of the lines; then those
// with the same functions, if no other stacks of files in either report have these. If one report
// was imported, a place is the innermost frame of the program's own Python code: its file, its line
// and the last part of its function's name, which is all that other tools report in the same way.
// Comparing the other way round gives the same rows with before and after exchanged. least_bytes:
// only rows that held this many bytes in one of the reports are listed and summed. May throw
// bad_alloc.
[[nodiscard]] Differences differences(const Report& before, const Report& after, DiffBy by,
                                      DiffAt at, const NameFrame& name,
                                      std::uint64_t least_bytes = 0);

}  // namespace vramscope
