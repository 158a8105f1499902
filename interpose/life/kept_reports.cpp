// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/kept_reports.h"

#include <utility>

namespace vramscope {

void KeptReports::add(OwnReport report) {
  files_.push_back(std::move(report));
  while (files_.size() > most_) {
    const OwnReport oldest = std::move(files_.front());
    files_.pop_front();
    remove_own_file(oldest.path, oldest.file);
  }
}

}  // namespace vramscope
