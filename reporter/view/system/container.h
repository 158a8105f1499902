// container_of() says in which container and pod a process runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

struct Container {
  std::string id = {};       // of 64 digits, as its runtime lists it; "": not known to run in one
  std::string pod_uid = {};  // "6a1f3c2e-...": of Kubernetes; "": in no pod
};

// Finds both in the content of /proc/PID/cgroup. May throw bad_alloc.
[[nodiscard]] Container container_in(std::string_view groups);

// Reads that of a process. In a cgroup namespace the path of an own process says nothing.
[[nodiscard]] Container container_of(std::int64_t pid);

}  // namespace vramscope
