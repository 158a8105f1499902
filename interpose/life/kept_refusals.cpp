// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/kept_refusals.h"

#include <utility>

namespace vramscope {

// Returns the index of a report between the first and the last that need not stay; 0 if there is
// none.
std::size_t KeptRefusals::needless() const noexcept {
  std::size_t smallest = 0;
  for (std::size_t i = 1; i + 1 < all_.size(); ++i) {
    for (std::size_t j = 0; j < all_.size(); ++j) {
      const bool is_told_by =
          j != i && all_[j].tag == all_[i].tag && all_[j].bytes == all_[i].bytes;
      if (is_told_by) return i;
    }
    if (smallest == 0 || all_[i].bytes < all_[smallest].bytes) smallest = i;
  }
  return all_.size() > kLargest + 2 ? smallest : 0;
}

void KeptRefusals::add(OwnReport report, const Event& asked) {
  all_.push_back({std::move(report), asked.tag, asked.bytes});
  while (const std::size_t i = needless()) {
    remove_own_file(all_[i].report.path, all_[i].report.file);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace vramscope
