// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/host.h"

#include <unistd.h>

#include <array>
#include <climits>

namespace vramscope {

std::string this_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace vramscope
