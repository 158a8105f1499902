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
constexpr std::chrono::seconds kSilence{1};
constexpr std::chrono::milliseconds kShowEvery{100};
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string noun, Clock::time_point since)
    : what_(std::move(what)),
      noun_(std::move(noun)),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      since_(since) {}

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
  if (share.ns < part_ns_) ++part_;
  part_ns_ = share.ns;
  const Clock::time_point now = Clock::now();
  const bool is_soon = now - since_ < kSilence || (is_shown_ && now - shown_ < kShowEvery);
  if (!is_terminal_ || is_soon) return;
  shown_ = now;
  is_shown_ = true;
  const std::string what = part_ == 1 ? what_ : what_ + ", part " + std::to_string(part_);
  std::fputs((kClearLine + ("vramscope: " + progress_text(what, noun_, share))).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace vramscope
