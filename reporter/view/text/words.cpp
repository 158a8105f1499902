// Words for what a report tells.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/words.h"

#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

// "not freed when rank 3 (4711) was killed by SIGKILL", of several "never freed, or live when ...":
// what the dead held says nothing of what they would have freed. "": no process died.
std::string deaths_text(const Report& report) {
  const std::vector<MergedProcess> processes = merged_processes(report);
  const std::string who = who_died(processes);
  if (who.empty()) return "";
  if (dead_among(processes).size() == processes.size()) return "not freed when " + who;
  return have_all_ended(report) ? "never freed, or live when " + who
                                : "not freed when the reports were written, or when " + who;
}

}  // namespace

std::string sampling_text(const Report& report) {
  if (report.sample_bytes == 0) return "";
  return "estimates from one call stack per " + bytes_text(report.sample_bytes);
}

std::string not_a_kind(const std::string& given) {
  if (kind_of(given)) return "";
  std::string synonyms;
  for (const std::string_view word : words_for_kinds()) {
    synonyms += (synonyms.empty() ? "" : ", ") + std::string(word);
  }
  return "'" + given + "' is none of " + listed(kKindNames) + "; or in other words " + synonyms;
}

std::string of_all_text(const Report& report, Kind kind, std::uint16_t device) {
  if (!report.chosen || !report.chosen->by_rows) return "";
  for (const KindFacts& all : report.chosen->kinds) {
    if (all.kind != kind || all.device != device) continue;
    return " of all " + bytes_text(all.peak_bytes);
  }
  return "";
}

std::string peak_word(const Report& report) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  if (!tells_frees(report)) return is_choice ? "at the snapshot" : "live at the snapshot";
  if (is_choice) return is_of_several(report) ? "at the peaks" : "at the peak";
  return is_of_several(report) ? "sum of peaks" : "peak";
}

Document nothing_text(const Report& report) {
  Document text;
  if (report.chosen) {
    text.nothing(std::string(kNothingPasses) + "allocated.");
  } else {
    // A trace may be cut at its beginning.
    text.line(trigger_of(report) == Trigger::trace
                  ? "Nothing was allocated in what was written of the trace."
                  : "Nothing was allocated.");
  }
  return text;
}

std::string never_freed_phrase(const Report& report) {
  if (is_final(report)) return "never freed";
  if (!tells_frees(report)) return "live at the snapshot";
  const std::string deaths = trigger_of(report) == Trigger::trace ? "" : deaths_text(report);
  if (!deaths.empty()) return deaths;
  if (is_of_several(report)) return "not freed when each report was written";
  if (trigger_of(report) != Trigger::trace) return "not freed when the report was written";
  const bool is_cut = report.chosen && report.chosen->until_ns;
  return "not freed " + (is_cut ? "after " + duration_text(*report.chosen->until_ns)
                                : std::string("by the end of the trace"));
}

std::string never_freed_text(const Report& report) {
  return capitalised(never_freed_phrase(report));
}

std::string all_freed_phrase(const Report& report) {
  return std::string("everything") + (report.chosen ? " that passes" : "") + " was freed" +
         (is_final(report) ? "" : " by then");
}

std::string rate_text(const GrowthRate& rate, const std::string& function) {
  const bool is_one = rate.periods < 2;
  const std::string each =
      bytes_text(rate.bytes) + " every " + (is_one ? "" : count_text(rate.periods) + " ");
  if (rate.unit == GrowthUnit::mark)
    return each + (is_one ? "mark '" : "marks '") + rate.name + "'";
  const bool is_pass = rate.unit == GrowthUnit::pass;
  const std::string& of = is_pass ? rate.name : function;
  return each + (is_pass ? (is_one ? "pass" : "passes") : (is_one ? "call" : "calls")) +
         (of.empty() ? "" : " of " + of);
}

std::string_view unified_words(const DeviceFacts& facts) {
  return facts.unified ? ", unified memory" : "";
}

std::string interval_text(const PeakBounds& bounds) {
  const std::string lower = amount_text(bounds.lower);
  const std::string upper = amount_text(bounds.upper);
  if (bounds.lower == bounds.upper) return upper;
  return lower == upper ? "at most " + upper : lower + " to " + upper;
}

std::string bounds_text(const PeakBounds& bounds) {
  if (bounds.lower < bounds.upper / 2) return "at most " + amount_text(bounds.upper);
  return interval_text(bounds);
}

std::string saved_text(const Savings& saved) {
  if (saved.most_ns == 0 || (saved.is_cut && saved.least_ns == 0)) return "";
  const std::string most = duration_text(saved.most_ns);
  const std::string least = duration_text(saved.least_ns);
  const std::string time = saved.is_cut          ? "at least " + least
                           : saved.least_ns == 0 ? "up to " + most
                           : least == most       ? "about " + most
                                                 : least + " to " + most;
  const std::string frees = counted(saved.spared_frees, "free");
  const bool has_frees = saved.has_frees && saved.spared_frees != 0;
  const bool lacks_frees = !saved.has_frees && saved.spared_frees != 0;
  return time + " in " +
         (saved.hits == 0 ? "" : counted(saved.hits, "allocation") + (has_frees ? " and " : "")) +
         (has_frees ? frees : "") + " (estimated)" +
         (lacks_frees ? "; what the cache saved in " + frees + " is not known" : "");
}

}  // namespace vramscope
