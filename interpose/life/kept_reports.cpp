// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/kept_reports.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace vramscope {

bool KeptReports::identify(File& file) noexcept {
  struct stat found {};
  if (lstat(file.path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  file.device = found.st_dev;
  file.inode = found.st_ino;
  return true;
}

void KeptReports::add(std::string path) {
  File written{.path = std::move(path)};
  if (identify(written)) files_.push_back(std::move(written));
  while (files_.size() > most_) {
    File oldest = std::move(files_.front());
    files_.pop_front();
    const dev_t device = oldest.device;
    const ino_t inode = oldest.inode;
    const bool is_there = identify(oldest) && oldest.device == device && oldest.inode == inode;
    if (is_there) unlink(oldest.path.c_str());
  }
}

}  // namespace vramscope
