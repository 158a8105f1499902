// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string noun)
    : what_(std::move(what)), noun_(std::move(noun)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs(kClearLine, stderr);
}

std::string progress_text(const std::string& what, const std::string& noun,
                          const TrialShare& share) {
  const double seconds = static_cast<double>(std::max<std::uint64_t>(share.ns, 1)) / kSecondNs;
  const double rate = static_cast<double>(share.steps) / seconds;
  std::string text = what + ": " + percent_text(share.steps, share.of) + ", " +
                     count_text(static_cast<std::int64_t>(rate)) + " " + noun + " a second";
  if (rate <= 0) return text;
  const double left = static_cast<double>(share.of - std::min(share.of, share.steps)) / rate;
  return text + ", " + duration_text(static_cast<std::uint64_t>(left * kSecondNs)) + " left";
}

void ProgressLine::show(const TrialShare& share) {
  if (!is_terminal_ || share.ns < kSecondNs) return;
  is_shown_ = true;
  std::fputs((kClearLine + ("vramscope: " + progress_text(what_, noun_, share))).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace vramscope
