// Sentences of a page's overview.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/verdict.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/map_answer.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/site_fronts.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/peak_use_text.h"
#include "reporter/view/text/refusals_text.h"
#include "reporter/view/text/suppressed_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

std::string where_text(const Report& report, std::size_t site, const NameFrame& name) {
  return harmless(text(FrontStacks(report, name).of(site, kFramesShown)));
}

const DeviceFacts* device_of(const Report& report, const KindFacts& kind) {
  for (const DeviceReport& device : report.devices) {
    if (has_device(kind.kind) && device.facts.index == kind.device) return &device.facts;
  }
  return nullptr;
}

std::size_t processes_with(const Report& report, const KindFacts& kind) {
  return static_cast<std::size_t>(std::count_if(
      report.processes.begin(), report.processes.end(),
      [&](const auto& process) { return has_kind(process, kind.kind, kind.device); }));
}

// "All kinds of memory of GPU 0 together held 185 MiB at their peak, 38.2 ms after the first call."
std::string joint_sentence(const Report& report, std::uint16_t device) {
  if (report.chosen && report.chosen->by_rows) return "";
  for (const JointPeak& joint : report.joint_peaks) {
    if (joint.facts.device != device) continue;
    return "All kinds of memory of " + gpu_name(report, device) + " together held " +
           amount_text(joint.facts.peak_bytes) + " at their peak, " +
           duration_text(joint.facts.peak_ns) + " after the first call.";
  }
  return "";
}

// ", 1.1 % of the device's 16.0 GiB".
// Of the upper bound, unless both are equal.
std::string share_of_device(const Report& report, const KindFacts& kind, const PeakBounds& bounds) {
  const DeviceFacts* const device = device_of(report, kind);
  if (device == nullptr || !takes_device_memory(kind.kind) || device->total_bytes == 0) return "";
  return std::string(", ") + (bounds.lower == bounds.upper ? "" : "at most ") +
         percent_text(bounds.upper, device->total_bytes) + " of the device's " +
         amount_text(device->total_bytes);
}

// Of what passes a filter, which has no peak of its own: "What passes held 702 MiB of all 5.15 GiB
// of GPU 0 at the peak of GPU 0, 1.38 s after the first call."
std::string choice_sentence(const Report& report, const KindFacts& kind) {
  const std::string memory = memory_name(report, kind.kind, kind.device);
  const std::string begin = "What passes held " + amount_text(kind.peak_bytes) +
                            of_all_text(report, kind) + " of " + memory;
  if (!tells_frees(report)) return begin + " at the snapshot.";
  if (is_of_several(report)) return begin + " at the peaks of the processes, summed.";
  return begin + " at the peak of " + memory + ", " + duration_text(kind.peak_ns) +
         " after the first call.";
}

// "GPU 0: the 2 processes that used it held 183 MiB at one time, 1.1 % of the device's 16.0 GiB;
// their own peaks, each at its own time, add up to 200 MiB."
std::string sum_sentence(const Report& report, const KindFacts& kind) {
  const std::size_t processes = processes_with(report, kind);
  const PeakBounds bounds = sum_of_kind(report, kind.kind, kind.device).peak;
  const std::string memory = capitalised(memory_name(report, kind.kind, kind.device));
  const std::string held =
      bounds_text(bounds) + " at one time" + share_of_device(report, kind, bounds);
  if (processes == 1) return memory + ": the one process that used it held " + held + ".";
  return memory + ": the " + std::to_string(processes) + " processes that used it held " + held +
         "; their own peaks, each at its own time, add up to " + amount_text(kind.peak_bytes) + ".";
}

// "GPU 0 held 183 MiB at its peak, 1.1 % of its 16.0 GiB, 40.1 ms after the first call."
std::string peak_sentence(const Report& report, const KindFacts& kind) {
  if (report.chosen && report.chosen->by_rows) return choice_sentence(report, kind);
  if (is_of_several(report)) return sum_sentence(report, kind);
  std::string text = capitalised(memory_name(report, kind.kind, kind.device)) + " held ";
  text += amount_text(kind.peak_bytes) +
          (tells_frees(report) ? " at its peak" : " at the snapshot") +
          share_of_device(report, kind, {kind.peak_bytes, kind.peak_bytes});
  if (!tells_frees(report)) return text + "; its peak is not known.";
  return text + ", " + duration_text(kind.peak_ns) + " after the first call.";
}

// Of the call stacks that read alike and held most together; of the largest ones, since names cost
// time.
std::string whose_sentence(const Report& report, const KindFacts& highest, const NameFrame& name) {
  constexpr std::size_t kLookedAt = 256;
  const FrontStacks stacks(report, name);
  std::map<std::string, Share> alike;
  std::size_t looked_at = 0;
  for (const Share& share : shares_of_peak(report)) {
    if (share.kind != highest.kind || share.device != highest.device) continue;
    if (++looked_at > kLookedAt) break;
    Share& sum = alike[harmless(text(stacks.of(share.site, kFramesShown)))];
    sum.bytes += share.bytes;
    sum.count += share.count;
    sum.whole = share.whole;
  }
  const auto most = std::max_element(alike.begin(), alike.end(), [](const auto& a, const auto& b) {
    return a.second.bytes < b.second.bytes;
  });
  if (most == alike.end()) return "";
  const Share& share = most->second;
  return percent_text(share.bytes, share.whole) + " of the " + amount_text(share.whole) + " of " +
         memory_name(report, highest.kind, highest.device) +
         (is_of_several(report) ? ", peaks added, " : ", ") + amount_text(share.bytes) + " in " +
         counted(share.count, "allocation") + ", came from " + most->first + ".";
}

// With what a trace tells of sites beside totals.
const Report& detailed(const PageOf& of) {
  return of.detailed == nullptr ? of.report : *of.detailed;
}

// What was never freed, and how much of it looks like a leak that grows.
std::string leak_sentence(const PageOf& of, const NameFrame& name) {
  const Report& report = detailed(of);
  Suppressions suppressions;
  suppressions.add_usual();
  const Leaks leaks = leaks_of(report, suppressions, name);
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t growing = 0;
  for (const Leak& leak : leaks.leaks) {
    bytes += leak.share.bytes;
    count += leak.share.count;
    if (leak.looks == LeakClass::grows) growing += leak.share.bytes;
  }
  const std::string suppressed = suppressed_clause(leaks);
  if (count == 0 && suppressed.empty()) return capitalised(all_freed_phrase(report)) + ".";
  if (count == 0) return never_freed_text(report) + ": only" + suppressed + ".";
  std::string text = amount_text(bytes) + " in " + counted(count, "allocation") +
                     (count == 1 ? " was " : " were ") + never_freed_phrase(report);
  if (!suppressed.empty()) text += ", beside" + suppressed;
  if (growing != 0) {
    text += "; " + amount_text(growing) + " of the " + amount_text(bytes) +
            " look like a leak that grows";
  }
  return text +
         (tells_frees(report) ? ", the most likely leak from " : ", the largest part from ") +
         where_text(report, leaks.leaks.front().share.site, name) + ".";
}

std::string oom_sentence(const Report& report, const NameFrame& name) {
  if (report.oom.count == 0) return capitalised(never_ran_out(report)) + ".";
  const std::string last = harmless(oom_line(report, name));
  return "Memory ran out in " + counted(report.oom.count, "call") +
         (last.empty() ? "." : ", the last one with " + last + ".");
}

// "; PyTorch's cache holds 6.82 GiB of GPU 0, and only that cache knows what is free inside it".
std::string caches_clause(const PageOf& of, const MapPlace& place, const NameFrame& name) {
  std::string text;
  for (const MapCache& cache : caches_in(of.report, place, name)) {
    text += "; " + cache.name + " holds " + amount_text(cache.bytes) + " of " +
            memory_name(of.report, place.kind, place.device) +
            ", and only that cache knows what is free inside it";
  }
  return text;
}

std::string fragmentation_sentence(const PageOf& of, const NameFrame& name) {
  const MapPlace* worst = nullptr;
  for (const MapPlace& place : of.places) {
    if (worst == nullptr || place.stranded_bytes > worst->stranded_bytes) worst = &place;
  }
  if (worst == nullptr) return "";
  const std::string memory = memory_name(of.report, worst->kind, worst->device);
  const std::string when = of.places_moment.empty() ? "" : " " + of.places_moment;
  if (worst->stranded_bytes == 0) {
    return "No free memory " + std::string(when.empty() ? "is" : "was") +
           " stranded beside live blocks" + when + caches_clause(of, *worst, name) + ".";
  }
  std::string text = amount_text(worst->stranded_bytes) + " of " + memory +
                     (when.empty() ? " are" : " were") + " free but stranded beside live blocks" +
                     when + ", in " + counted(worst->stranded_segments, "segment");
  if (!worst->pinners.empty() && worst->pinners.front().site >= 0) {
    text += ", most of them beside blocks from " +
            where_text(of.report, static_cast<std::size_t>(worst->pinners.front().site), name);
  }
  return text + caches_clause(of, *worst, name) + ".";
}

std::string temporary_sentence(const Report& report) {
  const TemporaryShare share = temporary_share(report);
  if (share.temporary == 0) return "";
  return count_text(share.temporary) + " of " + counted(share.allocations, "allocation") + " (" +
         percent_text(share.temporary, share.allocations) + ") were temporary: freed before " +
         "the next allocation of their thread" +
         (share.counts_last ? ". These include a thread's last allocation if it was freed." : ".");
}

}  // namespace

std::vector<std::string> verdict(const PageOf& of, const NameFrame& name) {
  const Report& report = of.report;
  const std::vector<KindFacts> kinds = kinds_by_peak(report);
  if (kinds.empty()) return {"Nothing was allocated.", oom_sentence(report, name)};
  constexpr std::size_t kKindsNamed = 4;
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsNamed); ++i) {
    sentences.push_back(peak_sentence(report, kinds[i]));
    if (i == 0) sentences.push_back(whose_sentence(report, kinds[i], name));
  }
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : kinds) {
    if (takes_device_memory(kind.kind) && devices.insert(kind.device).second) {
      sentences.push_back(joint_sentence(report, kind.device));
    }
  }
  for (std::string& sentence : peak_use_sentences(peak_uses(report, name))) {
    sentences.push_back(std::move(sentence));
  }
  for (std::string& sentence :
       std::array{oom_sentence(report, name), leak_sentence(of, name),
                  fragmentation_sentence(of, name), temporary_sentence(detailed(of))}) {
    sentences.push_back(std::move(sentence));
  }
  std::erase(sentences, "");
  return sentences;
}

}  // namespace vramscope
