// ThreadNames distinguishes threads without names by the function of the program in which they
// began.
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

// For one report. What it refers to must outlive it. Threads: one. May throw bad_alloc.
class ThreadNames {
 public:
  ThreadNames(const Report& report, const NameFrame& name);

  // Returns "main thread", in a merged report "main thread of rank 3", or "load (train.py:20)": the
  // outermost function that belongs neither to the system nor to code that starts threads, with the
  // line at which it begins if that is known. Returns "" if the stack does not reach that far, or
  // two threads have the same text. thread: a value of Axis::thread.
  [[nodiscard]] std::string began(const std::string& thread) const;

  // Returns where it began, or "" if its own name says enough.
  [[nodiscard]] std::string told(const std::string& thread) const;

  // Returns its name and where it began, for a line of stderr: "python3 4712 - load (train.py:20)".
  [[nodiscard]] std::string in_message(const std::string& thread) const;

  // Returns the name for viewers that also show the thread's number: "python3 - load
  // (train.py:20)".
  [[nodiscard]] std::string title(const ThreadFact& thread) const;

 private:
  // Returns the process whose main thread it is, or null.
  [[nodiscard]] const ProcessFacts* process_of(const std::string& thread) const;
  [[nodiscard]] bool is_of_program(std::string_view name) const;

  const Report& report_;
  const NameFrame& name_;
  std::map<std::string, std::size_t, std::less<>> bearers_;  // by name: the number of threads with
                                                             // it
};

}  // namespace vramscope
