// Container runtimes name the control group of a container by its number of 64 digits:
// "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope", or the bare ID.
// Kubernetes' node agent puts it below the pod's group: "kubepods-burstable-podUID.slice", in which
// systemd's driver writes the UID with '_' for '-', or "podUID".
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/container.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace vramscope {
namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::string_view kUidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "docker-ID.scope" and "ID" have one; "ID" is the end of the name before ".scope".
std::string id_in(std::string_view name) {
  if (name.ends_with(".scope")) name.remove_suffix(std::string_view(".scope").size());
  if (name.size() < kIdDigits) return "";
  const std::string_view id = name.substr(name.size() - kIdDigits);
  const std::string_view before = name.substr(0, name.size() - kIdDigits);
  const bool is_id = std::all_of(id.begin(), id.end(), is_digit);
  return is_id && (before.empty() || before.ends_with('-')) ? std::string(id) : "";
}

// A static pod's UID is 32 digits, for it is a checksum.
std::string uid_in(std::string_view name) {
  constexpr std::string_view kPod = "pod";
  constexpr std::size_t kChecksumDigits = 32;
  if (name.ends_with(".slice")) name.remove_suffix(std::string_view(".slice").size());
  const std::size_t at = name.rfind(kPod);
  if (at == name.npos || (at != 0 && name[at - 1] != '-')) return "";
  std::string uid(name.substr(at + kPod.size()));
  std::replace(uid.begin(), uid.end(), '_', '-');
  const bool is_checksum =
      uid.size() == kChecksumDigits && std::all_of(uid.begin(), uid.end(), is_digit);
  const bool is_uid =
      std::equal(uid.begin(), uid.end(), kUidForm.begin(), kUidForm.end(),
                 [](char c, char form) { return form == '-' ? c == '-' : is_digit(c); });
  return is_checksum || is_uid ? uid : "";
}

}  // namespace

Container container_in(std::string_view groups) {
  Container found;
  while (!groups.empty()) {
    const std::size_t end = std::min(groups.find_first_of("/\n"), groups.size());
    const std::string_view name = groups.substr(0, end);
    // The innermost counts: a container may run containers.
    if (std::string id = id_in(name); !id.empty()) found.id = std::move(id);
    if (std::string uid = uid_in(name); !uid.empty()) found.pod_uid = std::move(uid);
    groups.remove_prefix(std::min(end + 1, groups.size()));
  }
  return found;
}

Container container_of(std::int64_t pid) {
  constexpr std::size_t kMostBytes = 64 << 10;
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  std::string groups(kMostBytes, '\0');
  file.read(groups.data(), static_cast<std::streamsize>(groups.size()));
  groups.resize(static_cast<std::size_t>(file.gcount()));
  return container_in(groups);
}

}  // namespace vramscope
