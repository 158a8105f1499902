// Splits the text that reporter/report/commit.sh produced at build time: "b55cfdc123456
// 2026-11-23", or nothing.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/commit.h"

#include "reporter/report/commit_text.h"

namespace vramscope {
namespace {

constexpr std::string_view kText = kCommitText;
constexpr std::size_t kSpace = kText.find(' ');

}  // namespace

std::string_view commit_name() { return kText.substr(0, kSpace); }

std::string_view commit_date() {
  return kSpace == std::string_view::npos ? std::string_view() : kText.substr(kSpace + 1);
}

}  // namespace vramscope
