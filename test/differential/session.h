// What the tests that play sequences share: options, which sequence comes next, and how a result is
// told and kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "test/differential/sequence.h"
#include "test/differential/server.h"

namespace vramscope::differential {

using Generate = std::function<Sequence(std::uint64_t seed, std::size_t calls)>;

// Options that all of them have.
struct SessionArguments {
  Installation installation;
  std::string kept, keep, file;
  std::uint64_t first = 1, count = 0;
  std::size_t calls = 0;
  double seconds = 1e9;
  bool until_found = false;
  bool quiet = false;
};

// Reads a test's arguments. `special` takes an option that the test alone has, and the function
// that gives the option's value; what nobody knows is passed over. False: --print was asked for,
// and the sequence has been printed.
using OptionValue = std::function<std::string()>;
[[nodiscard]] bool read_arguments(
    int argc, char** argv, SessionArguments& arguments, const Generate& generate,
    const std::function<void(const std::string& option, const OptionValue& value)>& special);

struct Case {
  std::string name;
  Sequence sequence;
  std::uint64_t seed = 0;  // 0: a file
};

// Kept sequences first, then those of seeds. Threads: any.
class Cases {
 public:
  Cases(const SessionArguments& arguments, Generate generate);
  // False: there are no more, or the time is over. Throws std::runtime_error for a file that cannot
  // be read.
  [[nodiscard]] bool next(Case& chosen);
  // Since the session began, in seconds.
  [[nodiscard]] double elapsed() const;

 private:
  const SessionArguments& arguments_;
  const Generate generate_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<std::string> files_;
  std::atomic<std::uint64_t> next_{0};
};

// Calls `work` on so many threads, each with a folder of its own, which are made below `parent` and
// removed at the end.
void work_in_folders(const std::string& parent, const std::string& name, unsigned workers,
                     const std::function<void(const std::string& folder)>& work);

// A line of TAP and its notes. Threads: one at a time.
void print_result(bool ok, std::uint64_t number, const std::string& name,
                  const std::vector<std::string>& notes);

// Writes a failing sequence into a folder, which is made; what is to be said of it.
[[nodiscard]] std::string keep_in(const std::string& folder, std::string name,
                                  const Sequence& sequence);

}  // namespace vramscope::differential
