// ThreadNames tells threads apart that nobody gave a name: by the function of the program in which
// they began.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct ProcessFacts;
struct Report;
struct ThreadFact;

// Of one report. What it refers to has to live as long. Threads: one. May throw bad_alloc.
class ThreadNames {
 public:
  ThreadNames(const Report& report, const NameFrame& name);

  // "main thread", "main thread of rank 3" of a merged report, or "load (train.py:20)": the
  // outermost function that is neither the system's nor of what starts threads, with the line where
  // it begins if that is known. "" where the stack does not reach as far, or two threads are called
  // so. `thread`: as a value of Axis::thread.
  [[nodiscard]] std::string began(const std::string& thread) const;

  // Where it began, "" where its own name says enough.
  [[nodiscard]] std::string told(const std::string& thread) const;

  // What viewers call it that show its number beside: "python3 - load (train.py:20)".
  [[nodiscard]] std::string title(const ThreadFact& thread) const;

 private:
  // Whose main thread it is; null: none's.
  [[nodiscard]] const ProcessFacts* process_of(const std::string& thread) const;
  [[nodiscard]] bool is_of_program(std::string_view name) const;

  const Report& report_;
  const NameFrame& name_;
  std::map<std::string, std::size_t, std::less<>> bearers_;  // of each name
};

}  // namespace vramscope
