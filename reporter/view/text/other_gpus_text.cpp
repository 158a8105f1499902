// Of many the first in full.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/other_gpus_text.h"

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

std::string words(const GpusOfNumber& one) {
  if (one.count > 1) return std::to_string(one.count) + " GPUs added up";
  constexpr std::size_t kAsTyped = 12;  // "GPU-1a2b3c4d"
  const std::string uuid = one.uuids.empty() ? "" : one.uuids.front().substr(0, kAsTyped);
  const std::string host = one.hosts.size() == 1 ? one.hosts.front() : "";
  if (uuid.empty()) return "that of " + (host.empty() ? "an unknown host" : host);
  return uuid + (host.empty() ? "" : " of " + host);
}

}  // namespace

std::string other_gpus_text(const std::vector<OtherGpu>& others) {
  if (others.empty()) return "";
  const OtherGpu& first = others.front();
  const bool are_known = !first.before.uuids.empty() && !first.after.uuids.empty();
  std::string text = "GPU " + std::to_string(first.device) + " was " + words(first.before) +
                     ", and is " + words(first.after) +
                     (are_known ? ": different" : ": perhaps different") +
                     " devices, compared by their number.";
  if (others.size() > 1) {
    text += " So " + std::string(others.size() == 2 ? "is " : "are ") +
            counted(others.size() - 1, "more GPU") + ".";
  }
  const bool are_sums = first.before.count != first.after.count;
  return are_sums ? text + " Merge both with this version to compare GPU with GPU." : text;
}

Columns<OtherGpu> other_gpu_columns() {
  using Row = OtherGpu;
  const auto of = [](GpusOfNumber Row::*side, std::vector<std::string> GpusOfNumber::*what) {
    return [side, what](const Row& row) { return (row.*side).*what; };
  };
  return {{"device", "number of the GPU", &Row::device},
          {"before_uuids", "in BEFORE, as far as they are known",
           of(&Row::before, &GpusOfNumber::uuids)},
          {"before_hosts", "machines in BEFORE", of(&Row::before, &GpusOfNumber::hosts)},
          {"after_uuids", "the same in AFTER", of(&Row::after, &GpusOfNumber::uuids)},
          {"after_hosts", "machines in AFTER", of(&Row::after, &GpusOfNumber::hosts)}};
}

}  // namespace vramscope
