// Reads a perf map.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfPerfMap = std::size_t{64} << 20;
constexpr std::size_t kMostName = 1024;

bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto read = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  const auto length = static_cast<std::size_t>(read.ptr - line.data());
  if (read.ec != std::errc{} || length >= line.size() || line[length] != ' ') return false;
  line.remove_prefix(length + 1);
  return true;
}

// Anybody may make a file of that name in /tmp, or a link to one of the reader's. As perf, which
// takes one of its user's or root's.
std::string text_of_map(const std::string& path) {
  const Descriptor file(path, O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return "";
  const bool is_near = status.st_uid == geteuid() || status.st_uid == 0;
  return is_near ? beginning_of(file.number(), kMostOfPerfMap) : "";
}

}  // namespace

PerfMap::PerfMap(std::int64_t pid) {
  const std::string text = text_of_map("/tmp/perf-" + std::to_string(pid) + ".map");
  std::string_view rest = text;
  for (std::size_t end; !rest.empty(); rest.remove_prefix(std::min(end + 1, rest.size()))) {
    end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    if (!take_number(line, start) || !take_number(line, bytes) || line.empty()) continue;
    codes_.insert_or_assign(start, Code{bytes, std::string(line.substr(0, kMostName))});
  }
}

std::string PerfMap::name_of(std::uint64_t return_address) const {
  const std::uint64_t inside = return_address - 1;
  const auto after = codes_.upper_bound(inside);
  if (after == codes_.begin()) return {};
  const auto& [start, code] = *std::prev(after);
  return inside - start < code.bytes ? code.name : std::string();
}

}  // namespace vramscope
