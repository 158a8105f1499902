// Reads files of Python code, each once.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "reporter/report/files/descriptor.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMostOfSource = std::uint64_t{4} << 20;
constexpr std::size_t kMostOfALine = 200;

bool is_same(const struct stat& now, const SourceFact& source) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) == source.bytes &&
         static_cast<std::uint64_t>(now.st_mtim.tv_sec) * kSecond +
                 static_cast<std::uint64_t>(now.st_mtim.tv_nsec) ==
             source.modified_ns;
}

// Of what is open, whatever links led there.
std::string path_of(int file) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error).string();
}

bool is_below(const std::string& path, const std::string& folder) {
  std::error_code error;
  std::string whole = std::filesystem::canonical(folder, error).string();
  if (error) return false;
  if (!whole.ends_with('/')) whole += '/';
  return path.starts_with(whole);
}

bool is_shown(const std::string& path, const struct stat& status, const ShownSources& shown) {
  for (const std::string& folder : shown.folders) {
    if (is_below(path, folder)) return true;
  }
  const bool is_near = status.st_uid == geteuid() || status.st_uid == 0;
  return shown.is_own && (is_near || (status.st_mode & S_IROTH) != 0);
}

bool is_python(std::string_view path, std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return path.ends_with(".py") || (first.starts_with("#!") && first.find("python") != first.npos);
}

std::string whole(int file) {
  std::string text;
  std::array<char, 1 << 16> part{};
  for (ssize_t got; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// "" when it is not to be shown.
std::string text_of(const SourceFact& source, const ShownSources& shown) {
  if (source.bytes == 0 || source.bytes > kMostOfSource || !source.path.starts_with('/')) return "";
  const Descriptor file(source.path, O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (fstat(file.number(), &status) != 0 || !is_same(status, source)) return "";
  const std::string path = path_of(file.number());
  if (!is_shown(path, status, shown)) return "";
  std::string text = whole(file.number());
  return is_python(path, text) ? text : "";
}

std::vector<std::string> read_lines(const SourceFact& source, const ShownSources& shown) {
  std::vector<std::string> lines;
  const std::string text = text_of(source, shown);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

bool is_as_it_was(const SourceFact& source) {
  struct stat now {};
  return source.bytes != 0 && source.path.starts_with('/') &&
         stat(source.path.c_str(), &now) == 0 && is_same(now, source);
}

std::string SourceLines::line(const SourceFact& source, std::uint32_t line,
                              const ShownSources& shown) {
  const Key key{source.path, source.bytes, source.modified_ns, shown.is_own};
  const auto [known, is_new] = lines_.try_emplace(key);
  if (is_new) known->second = read_lines(source, shown);
  if (line == 0 || line > known->second.size()) return {};
  const std::string& text = known->second[line - 1];
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find_last_not_of(" \t\r");
  return text.substr(begin, std::min(end + 1 - begin, kMostOfALine));
}

}  // namespace vramscope
