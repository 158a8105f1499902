// AsOwner lets root act for a while as the user whose process it is, so that what is made belongs
// to that user, and that user's private folder is found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>

namespace vramscope {

// Has no effect for other users than root, and on root's own processes. Threads: one, the only one
// of this process.
class AsOwner {
 public:
  explicit AsOwner(pid_t process) : group_(getegid()) {
    struct stat found {};
    if (geteuid() != 0 || stat(("/proc/" + std::to_string(process)).c_str(), &found) != 0) return;
    if (found.st_uid == 0) return;
    is_other_ = setegid(found.st_gid) == 0 && seteuid(found.st_uid) == 0;
  }
  ~AsOwner() {
    if (is_other_ && seteuid(0) == 0) static_cast<void>(setegid(group_) == 0);
  }
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;

 private:
  const gid_t group_;
  bool is_other_ = false;
};

}  // namespace vramscope
