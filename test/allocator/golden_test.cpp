// Plays one golden trace and compares every line: golden_test PLAYER FLAGS TRACE EXPECTED [CONF].
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
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

std::string played(const std::string& player, const std::string& flags, const std::string& trace) {
  const std::string command = quote(player) + " " + flags + " < " + quote(trace);
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
  if (argc != 5 && argc != 6) {
    std::cerr << "usage: golden_test PLAYER FLAGS TRACE EXPECTED [CONF]\n";
    return 2;
  }
  const std::string settings = argc == 6 ? content(argv[5]) : "";
  setenv("VRAMSCOPE_ALLOC_CONF", settings.substr(0, settings.find('\n')).c_str(), 1);
  const std::string expected = content(argv[4]);
  const std::string answer = played(argv[1], argv[2], argv[3]);
  if (!expected.empty() && answer == expected) return 0;
  std::size_t at = 0;
  std::size_t line = 1;
  while (at < answer.size() && at < expected.size() && answer[at] == expected[at]) {
    line += answer[at++] == '\n';
  }
  const std::size_t start = expected.rfind('\n', at) + 1;
  std::cerr << argv[4] << ':' << line << ": expected " << expected.substr(start, 200)
            << "\n  answered " << answer.substr(start, 200) << '\n';
  return 1;
}
