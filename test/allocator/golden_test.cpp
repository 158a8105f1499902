// Plays one golden trace and compares every line: golden_test PLAYER TRACE EXPECTED.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

namespace {

struct PipeCloser {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

std::string quote(const std::string& path) { return "'" + path + "'"; }

std::string played(const std::string& player, const std::string& trace) {
  const std::string command = quote(player) + " --digest < " + quote(trace);
  const std::unique_ptr<std::FILE, PipeCloser> pipe(popen(command.c_str(), "r"));
  std::string out;
  char buffer[65536];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe.get())) {
    out.append(buffer, n);
  }
  return out;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: golden_test PLAYER TRACE EXPECTED\n";
    return 2;
  }
  const std::string expected = content(argv[3]);
  const std::string answer = played(argv[1], argv[2]);
  if (!expected.empty() && answer == expected) return 0;
  std::size_t at = 0;
  std::size_t line = 1;
  while (at < answer.size() && at < expected.size() && answer[at] == expected[at]) {
    line += answer[at++] == '\n';
  }
  const std::size_t start = expected.rfind('\n', at) + 1;
  std::cerr << argv[3] << ':' << line << ": expected " << expected.substr(start, 200)
            << "\n  answered " << answer.substr(start, 200) << '\n';
  return 1;
}
