// Compares runs, within the rules.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/comparison.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

#include "test/differential/comparison_known.h"
#include "test/recount/recount.h"

namespace vramscope::differential {
namespace {

constexpr std::uint64_t kMostOfACachedBlock = 64 * kMiB;  // its segment, with any option in use
constexpr std::uint64_t kMostOfABlock = 4 * kMiB;         // the driver's own rounding at both ends

// The number after "name=" in a result.
std::uint64_t value(const std::string& result, const std::string& name) {
  const std::size_t at = (" " + result).find(" " + name + "=");
  return at == std::string::npos ? 0 : std::stoull(result.substr(at + name.size() + 1));
}

class Comparison {
 public:
  Comparison(const Sequence& sequence, const Run& native, const Run& ours,
             const Configuration& configuration)
      : sequence_(sequence), native_(native), ours_(ours), configuration_(configuration) {}

  std::vector<std::string> all() {
    constexpr std::size_t kMost = 4;  // what comes later often follows
    for (std::size_t i = 0; i < sequence_.lines.size() && found_.size() < kMost; ++i) {
      compare_line(i);
    }
    if (native_.status != ours_.status) {
      add("exit status " + status_text(native_.status) + " became " + status_text(ours_.status));
    }
    compare_errors();
    check_reports();
    return std::move(found_);
  }

 private:
  void add(std::string text) { found_.push_back(std::move(text)); }

  static std::string status_text(int status) {
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
    return std::to_string(WEXITSTATUS(status));
  }

  [[nodiscard]] bool caches() const {
    return configuration_.mode == "cache" || configuration_.mode == "dedicated";
  }

  // A line about something that a rule has made different is not compared, and what it gives is
  // different too.
  bool is_tainted(const Line& line, const std::string& native, const std::string& ours) {
    if (begins_anew(line) && native.starts_with("0") && ours.starts_with("0")) {
      tainted_.erase(line.words[0]);
    }
    const auto touched = [&](const std::string& word) { return tainted_.contains(word); };
    if (!std::any_of(line.words.begin(), line.words.end(), touched)) return false;
    for (const std::string& word : line.words) {
      const bool is_name = word.size() > 1 && word.find_first_of("ahikmvy") == 0 &&
                           word.find_first_not_of("0123456789", 1) == word.npos;
      if (is_name) tainted_.insert(word);
    }
    return true;
  }

  // Its first word names something that was not there before.
  static bool begins_anew(const Line& line) {
    constexpr std::string_view kVerbs[] = {"alloc",       "pitch",    "managed", "array",
                                           "pin",         "register", "create",  "map",
                                           "alloc_async", "ipc_open"};
    return std::find(std::begin(kVerbs), std::end(kVerbs), line.verb) != std::end(kVerbs);
  }

  void compare_line(std::size_t number) {
    const Line& line = sequence_.lines[number];
    const std::string& native = native_.results[number];
    const std::string& ours = ours_.results[number];
    if (line.verb == "fault" && line.words.at(0) == "sticky" && native == "set") sticky_ = true;
    if (line.verb == "free_async" && native == "0") freed_in_order_ = true;
    const bool spreads = is_tainted(line, native, ours);
    // Also of memory that is not compared any more: the refusal writes its line.
    if (is_refused_export(line, native, ours)) exported_part_ = true;
    if (native == ours || spreads || ran_out_) return;
    if (is_by_design(line, native, ours)) return;
    add("line " + std::to_string(number) + ": " + text_of(line) + "\n    natively: " + native +
        "\n    with us:  " + ours);
  }

  // Of a block that is a part of a segment.
  [[nodiscard]] bool is_refused_export(const Line& line, const std::string& native,
                                       const std::string& ours) const {
    const bool exports = line.verb == "ipc_get" || line.verb == "sync_memops";
    return exports && configuration_.mode == "cache" && (native == "0" || ran_out_) &&
           ours == "801";
  }

  // On a small device a segment may not fit where the block alone did; of threads at the same time
  // the first has the room, and what was freed in a stream's order is there when the stream is.
  // From then on the programs have different memory.
  [[nodiscard]] bool runs_out(const Line& line, const std::string& native,
                              const std::string& ours) const {
    if (sequence_.simulator.find("capacity") == std::string::npos) return false;
    if (!(caches() || line.together || freed_in_order_)) return false;
    const auto has_none = [](const std::string& result) { return result == "2"; };
    const auto has_some = [](const std::string& result) { return result.starts_with("0"); };
    return (begins_anew(line) || line.verb == "launch") &&
           ((has_none(native) && has_some(ours)) || (has_some(native) && has_none(ours)));
  }

  bool is_by_design(const Line& line, const std::string& native, const std::string& ours) {
    if (runs_out(line, native, ours)) return ran_out_ = true;
    if (line.verb == "info" && sticky_ && is_at_reuse()) return true;
    if (line.verb == "info") return is_free_memory(native, ours);
    const bool is_stale = native.starts_with("stale:") || ours.starts_with("stale:");
    if (is_stale) return true;
    if (is_refused_export(line, native, ours)) {
      tainted_.insert(line.words[0]);
      return true;
    }
    const bool is_of_tail = line.verb == "check" && line.words[1] == "tail";
    if (is_of_tail && moved_tails_.contains(line.words[0])) return true;
    const bool opens = line.verb == "ipc_open" && configuration_.mode == "cache";
    if (opens && native.starts_with("0 0 ") && ours.starts_with("0 0 ")) {
      const std::uint64_t more = value(ours, "bytes") - value(native, "bytes");
      moved_tails_.insert(line.words[0]);
      return more <= 2 * kMiB || rounds_more();
    }
    // README, "Modes": the error shows at a later call, and what was freed until then is free.
    if (sticky_ && is_at_reuse() && ours.starts_with("0")) {
      tainted_.insert(line.words.empty() ? "" : line.words[0]);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool rounds_more() const {  // blocks themselves
    return configuration_.name.find("round") != std::string::npos;
  }

  [[nodiscard]] bool is_at_reuse() const {
    return std::any_of(configuration_.options.begin(), configuration_.options.end(),
                       [](const auto& option) { return option.first == "VRAMSCOPE_REUSE"; });
  }

  // Exactly the driver's when the program has no block of ours; else within what blocks may take
  // of their segments.
  [[nodiscard]] bool is_free_memory(const std::string& native, const std::string& ours) const {
    // What was freed in a stream's order comes back when the stream gets there.
    const bool is_exact = !caches() && value(native, "held") == 0 && value(native, "others") == 0;
    if (is_exact || !native.starts_with("0 ") || !ours.starts_with("0 ")) return false;
    const auto same = [&](const char* name) { return value(native, name) == value(ours, name); };
    if (!same("total") || !same("live") || !same("count") || !same("held")) return false;
    const std::uint64_t ours_free = value(ours, "free");
    const std::uint64_t native_free = value(native, "free");
    const std::uint64_t count = value(native, "count");
    const std::uint64_t most = configuration_.mode == "cache" ? kMostOfACachedBlock : kMostOfABlock;
    const std::uint64_t others = value(native, "others") * kMostOfACachedBlock;
    const std::uint64_t held_bytes = value(native, "held");
    const std::uint64_t held = held_bytes == 0 ? 0 : held_bytes + 8 * kMostOfACachedBlock;
    const std::uint64_t slack = count * most + held + others + kept_chunks();
    // Small blocks share pages: an idle one counts with its page, which others may be on.
    const std::uint64_t shared = (count + value(native, "others")) * kMostOfABlock;
    if (ours_free > value(ours, "total") - value(ours, "live") + shared) return false;
    return ours_free + slack >= native_free &&
           ours_free <= native_free + count * kMostOfABlock + held + others + kept_chunks();
  }

  // Empty, natively: with us the driver has no such chunks, or each context has one at most.
  [[nodiscard]] std::uint64_t kept_chunks() const {
    constexpr std::uint64_t kChunk = 2 * kMiB;
    return sequence_.simulator.find("one_kept") == std::string::npos ? 0 : kChunk;
  }

  void compare_errors() {
    std::istringstream lines(ours_.errors);
    std::string line;
    std::string rest;
    while (std::getline(lines, line)) {
      const bool is_allowed = exported_part_ && line.find("cannot be exported") != line.npos;
      const bool is_note = line.find("has no effect here") != line.npos;
      if (!is_allowed && !is_note) rest += line + "\n";
    }
    if (rest != native_.errors) add("standard error became:\n    " + rest);
  }

  [[nodiscard]] bool has_stacks() const {
    for (const auto& [name, value] : configuration_.options) {
      if (name.starts_with("VRAMSCOPE_STACK") || name == "VRAMSCOPE_SAMPLE_BYTES") return false;
    }
    return true;
  }

  void check_reports() {
    const bool amid_calls = std::any_of(sequence_.lines.begin(), sequence_.lines.end(),
                                        [](const Line& line) { return line.together; });
    const judge::Taken taken = amid_calls ? judge::Taken::amid_calls : judge::Taken::between_calls;
    std::map<int, judge::History> histories;
    for (const Written& report : ours_.reports) {
      const std::string name =
          "report " + std::to_string(report.number) +
          (report.pid == ours_.pid ? "" : " of process " + std::to_string(report.pid)) + ": ";
      try {
        const judge::Json json = judge::Json::parse(report.text);
        for (const std::string& text : judge::recount(json, taken)) add(name + text);
        for (const std::string& text : histories[report.pid].next(json)) add(name + text);
        compare_with_known(name, report, json);
      } catch (const std::exception& error) {
        add(name + error.what());
      }
    }
    check_presence();
  }

  void compare_with_known(const std::string& name, const Written& report, const judge::Json& json) {
    const auto same_process = [&](const Written& known) { return known.pid == report.pid; };
    if (std::none_of(ours_.known.begin(), ours_.known.end(), same_process)) {
      add(name + "nobody who owns a record ends here");
    }
    for (const Written& known : ours_.known) {
      if (known.pid != report.pid || known.number != report.number) continue;
      for (const std::string& text : compare(json, read_known(known.text), has_stacks())) {
        add(name + text);
      }
    }
  }

  // README, "Use": a report is written when the program ends in any way but a crash or SIGKILL.
  void check_presence() {
    if (configuration_.mode == "off") return;
    const auto end = std::find_if(sequence_.lines.begin(), sequence_.lines.end(),
                                  [](const Line& line) { return line.verb == "end"; });
    const std::string way = end == sequence_.lines.end() ? "return" : end->words.at(0);
    const bool began = has_begun();
    for (const Written& known : ours_.known) {
      if (!began || known.pid != ours_.pid) continue;
      const auto is_its = [&](const Written& report) {
        return report.pid == known.pid && report.number == known.number;
      };
      const bool is_last = &known == last_known();
      const bool crashes = is_last && (way == "abort" || way == "kill");
      const bool is_there = std::any_of(ours_.reports.begin(), ours_.reports.end(), is_its);
      if (is_there == crashes) {
        add("report " + std::to_string(known.number) + (is_there ? " of a crash" : " is missing"));
      }
    }
  }

  [[nodiscard]] const Written* last_known() const {
    const Written* last = nullptr;
    for (const Written& known : ours_.known) {
      if (known.pid == ours_.pid) last = &known;
    }
    return last;
  }

  [[nodiscard]] bool has_begun() const {
    for (std::size_t i = 0; i < sequence_.lines.size(); ++i) {
      const Line& line = sequence_.lines[i];
      if (line.verb == "init" && line.process == 0 && ours_.results[i] == "0") return true;
    }
    return false;
  }

  const Sequence& sequence_;
  const Run& native_;
  const Run& ours_;
  const Configuration& configuration_;
  std::vector<std::string> found_;
  std::set<std::string> tainted_;
  std::set<std::string> moved_tails_;  // of imports: who opens a block sees its segment
  bool sticky_ = false;
  bool freed_in_order_ = false;
  bool ran_out_ = false;
  bool exported_part_ = false;
};

}  // namespace

std::vector<std::string> differences(const Sequence& sequence, const Run& native, const Run& ours,
                                     const Configuration& configuration) {
  return Comparison(sequence, native, ours, configuration).all();
}

}  // namespace vramscope::differential
