// A player that serves sequences in one setting: natively, or under the library with its options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test/differential/sequence.h"

namespace vramscope::differential {

// What is preloaded and where things are. All paths are absolute.
struct Installation {
  std::string player;
  std::string library;
  std::string simulator;  // folder of libcuda.so.1
};

using Variables = std::vector<std::pair<std::string, std::string>>;
struct Configuration {
  std::string name;   // "cache at-reuse", as a person reads it
  std::string mode;   // empty: without us
  Variables options;  // variables of ours
};

// A report, or what the program knew when it was made.
struct Written {
  int pid = 0;
  int number = 0;
  std::string text;
};

struct Run {
  int pid = 0;
  int status = 0;                    // as waitpid gives it
  std::vector<std::string> results;  // by line; empty where the program did not get to
  std::string errors;                // its standard error
  std::vector<Written> reports;      // sorted by process and number
  std::vector<Written> known;
};

// Threads: one at a time.
class Server {
 public:
  // `folder` must be there and is filled. Throws std::runtime_error when the player cannot start.
  Server(const Installation& installation, const Configuration& configuration, std::string folder);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Throws std::runtime_error when the player itself has gone.
  [[nodiscard]] Run run(const Sequence& sequence);

 private:
  std::string folder_;
  int process_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace vramscope::differential
