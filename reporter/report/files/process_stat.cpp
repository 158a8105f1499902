// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace vramscope {

ProcessStat process_stat(const char* path) noexcept {
  constexpr int kFieldsBetween = 19;  // from field 3, the state, to field 22, the start
  std::array<char, 1024> text{};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  if (::read(file, text.data(), text.size() - 1) < 0) text = {};
  close(file);
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] != ' ') return {};
  at += 2;
  const char state = *at;
  for (int i = 0; i < kFieldsBetween && at != nullptr; ++i) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return {state, at == nullptr ? 0 : std::strtoull(at, nullptr, 10)};
}

}  // namespace vramscope
