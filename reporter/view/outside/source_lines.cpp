// Reads files of Python code, each once.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace vramscope {
namespace {

constexpr std::uint64_t kMostOfSource = std::uint64_t{4} << 20;
constexpr std::size_t kMostOfALine = 200;

bool is_as_it_was(int file, const SourceFact& source) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  struct stat now {};
  if (fstat(file, &now) != 0 || !S_ISREG(now.st_mode)) return false;
  return static_cast<std::uint64_t>(now.st_size) == source.bytes &&
         static_cast<std::uint64_t>(now.st_mtim.tv_sec) * kSecond +
                 static_cast<std::uint64_t>(now.st_mtim.tv_nsec) ==
             source.modified_ns;
}

std::string whole(int file) {
  std::string text;
  std::array<char, 1 << 16> part{};
  for (ssize_t got; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<std::string> read_lines(const SourceFact& source) {
  std::vector<std::string> lines;
  if (source.bytes == 0 || source.bytes > kMostOfSource || !source.path.starts_with('/'))
    return lines;
  const int file = ::open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return lines;
  const std::string text = is_as_it_was(file, source) ? whole(file) : "";
  ::close(file);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string SourceLines::line(const SourceFact& source, std::uint32_t line) {
  const auto [known, is_new] = lines_.try_emplace(source.path);
  if (is_new) known->second = read_lines(source);
  if (line == 0 || line > known->second.size()) return {};
  const std::string& text = known->second[line - 1];
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find_last_not_of(" \t\r");
  return text.substr(begin, std::min(end + 1 - begin, kMostOfALine));
}

}  // namespace vramscope
