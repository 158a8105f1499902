// Looks for whose reports they are where our reports have it, without parsing them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/repeated_processes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

using Sequences = std::map<ProcessIdentity, std::uint64_t>;

// What a file is the report of. No process: nobody knows, and it is told apart from all others.
struct Input {
  std::string path;
  Sequences processes = {};
  bool is_merged = false;
  bool is_kept = true;
};

// Behind `key`, as our reports have it; 0 where it is not.
std::uint64_t number_behind(std::string_view text, std::string_view key) {
  std::uint64_t number = 0;
  const std::size_t at = text.find(key);
  if (at == text.npos) return number;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

// The process in `text`, which begins no later than that; its pid may be 0.
ProcessIdentity who_in(std::string_view text) {
  constexpr std::string_view kHost = "\"hostname\":\"";
  std::string host;
  if (const std::size_t found = text.find(kHost); found != text.npos) {
    const std::size_t at = found + kHost.size();
    host = text.substr(at, text.find('"', at) - at);
  }
  return {host, number_behind(text, "\"pid\":"), number_behind(text, "\"start_time_ns\":")};
}

// Each is an element on a line of its own behind the member's name.
Sequences merged_processes(const std::string& path) {
  constexpr std::string_view kProcess = "{\"process\":{";
  Sequences found;
  const std::string text = end_of(path, "\n\"processes\":[");
  for (std::size_t at = text.find('\n', 1); at != text.npos; at = text.find('\n', at + 1)) {
    const std::string_view line = std::string_view(text).substr(at + 1);
    if (!line.starts_with(kProcess)) break;
    const std::string_view process = line.substr(0, line.find('\n'));
    const std::size_t behind = process.find("\"trigger\":");
    found[who_in(process)] =
        number_behind(process.substr(std::min(behind, process.size())), "\"sequence\":");
  }
  return found;
}

constexpr std::size_t kWhoseBytes = std::size_t{1} << 16;  // of a report: they say whose it is

std::string behind_last_brace(const std::string& path) {
  const std::string end = end_of(path, "}");
  return end.empty() ? "none" : end.substr(1);
}

// Whether the object is closed at the end of the file, of which `beginning` may be all.
bool is_whole(const std::string& path, std::string_view beginning) {
  const std::string end = beginning.size() < kWhoseBytes
                              ? std::string(beginning.substr(beginning.rfind('}') + 1))
                              : behind_last_brace(path);
  return beginning.find('}') != beginning.npos && end.find_first_not_of(" \r\n\t") == end.npos;
}

Input input_of(const std::string& path) {
  const std::string text = beginning_of(path, kWhoseBytes);
  if (!is_whole(path, text)) return {.path = path};  // whoever opens it says so
  Input input{.path = path, .is_merged = text.find("\n\"trigger\":\"merged\"") != text.npos};
  if (input.is_merged) {
    input.processes = merged_processes(path);
  } else if (const ProcessIdentity who = who_in(text); std::get<1>(who) != 0) {
    input.processes[who] = number_behind(text, "\"sequence\":");
  }
  return input;
}

void add_to(Sequences& known, const Sequences& more) {
  for (const auto& [who, sequence] : more) {
    known[who] = std::max(known[who], sequence);
  }
}

// Whether all of its processes are in `known`, and no older there.
bool is_covered(const Input& input, const Sequences& known) {
  const auto is_known = [&](const auto& process) {
    const auto found = known.find(process.first);
    return found != known.end() && found->second >= process.second;
  };
  return !input.processes.empty() &&
         std::all_of(input.processes.begin(), input.processes.end(), is_known);
}

// The last report of each process. `earlier`: how many came before those.
Sequences keep_last(std::vector<Input>& inputs, std::size_t& earlier) {
  Sequences last;
  for (const Input& one : inputs) {
    if (!one.is_merged) add_to(last, one.processes);
  }
  std::set<ProcessIdentity> taken;
  for (Input& one : inputs) {
    if (one.is_merged || one.processes.empty()) continue;
    const auto& [who, sequence] = *one.processes.begin();
    const bool is_last = sequence == last[who];
    earlier += is_last ? 0 : 1;
    one.is_kept = is_last && taken.insert(who).second;
  }
  return last;
}

// The merged ones that are needed, the largest first; reports that are in these have to go.
void keep_needed(std::vector<Input>& inputs, Sequences known) {
  std::vector<Input*> merged;
  for (Input& one : inputs) {
    if (one.is_merged) merged.push_back(&one);
  }
  std::sort(merged.begin(), merged.end(), [](const Input* a, const Input* b) {
    if (a->processes.size() != b->processes.size()) {
      return b->processes.size() < a->processes.size();
    }
    return b->processes < a->processes;
  });
  Sequences held;  // by those that stay
  for (Input* const one : merged) {
    one->is_kept = !is_covered(*one, known);
    if (!one->is_kept) continue;
    add_to(known, one->processes);
    add_to(held, one->processes);
  }
  for (Input& one : inputs) {
    const bool is_single = !one.is_merged && !one.processes.empty();
    if (is_single && held.contains(one.processes.begin()->first)) one.is_kept = false;
  }
}

void tell_left_out(const std::vector<Input>& inputs, std::size_t earlier,
                   const std::function<void(std::string_view)>& tell) {
  if (earlier != 0) tell(counted(earlier, "earlier report") + " of the same processes skipped");
  const auto is_out = [](const Input& one) { return !one.is_kept; };
  const auto out = static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), is_out));
  if (out == earlier) return;
  tell(counted(out - earlier, "report") + " skipped, because other reports contain the same data");
}

// One report of one process, which may have written others.
struct OneOfMany {
  std::string path;
  ProcessIdentity who;  // no process: nobody knows
  std::uint64_t refusals = 0;
  std::uint64_t sequence = 0;

  [[nodiscard]] auto order() const { return std::tie(refusals, sequence); }
};

OneOfMany one_of_many(const std::string& path) {
  constexpr std::string_view kRefusals = "\n\"oom\":{\"count\":";
  const std::string text = beginning_of(path, kWhoseBytes);
  OneOfMany one{.path = path, .who = {}};
  if (text.find("\n\"trigger\":\"merged\"") != text.npos) return one;
  one.who = who_in(text);
  one.refusals = number_behind(end_of(path, kRefusals), kRefusals);
  one.sequence = number_behind(text, "\"sequence\":");
  return one;
}

bool names_process(const ProcessIdentity& who) { return std::get<1>(who) != 0; }

}  // namespace

WrittenBy written_by(const std::string& path) {
  const std::string text = beginning_of(path, kWhoseBytes);
  const bool is_of_one = text.find("\"vramscope-report\"") != text.npos &&
                         text.find("\n\"trigger\":\"merged\"") == text.npos;
  if (!is_of_one) return {};
  return {.who = who_in(text),
          .sequence = number_behind(text, "\"sequence\":"),
          .report_time_ns = number_behind(text, "\"report_time_ns\":")};
}

void keep_refusals_once(std::vector<std::string>& paths,
                        const std::function<void(std::string_view)>& tell) {
  std::vector<OneOfMany> inputs;
  std::map<ProcessIdentity, std::size_t> best;  // index into `inputs`
  for (const std::string& path : paths) {
    inputs.push_back(one_of_many(path));
    const auto [known, is_new] = best.emplace(inputs.back().who, inputs.size() - 1);
    if (!is_new && inputs[known->second].order() < inputs.back().order()) {
      known->second = inputs.size() - 1;
    }
  }
  paths.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (names_process(inputs[i].who) && best[inputs[i].who] != i) continue;
    paths.push_back(std::move(inputs[i].path));
  }
  if (const std::size_t out = inputs.size() - paths.size(); out != 0) {
    tell(counted(out, "report") + " skipped: " +
         (out == 1 ? "another report of its process describes"
                   : "other reports of their processes describe") +
         " the same refusals");
  }
}

void drop_repeated_processes(std::vector<std::string>& paths,
                             const std::function<void(std::string_view)>& tell) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) inputs.push_back(input_of(path));
  std::size_t earlier = 0;
  const Sequences last = keep_last(inputs, earlier);
  keep_needed(inputs, last);
  tell_left_out(inputs, earlier, tell);
  paths.clear();
  for (Input& one : inputs) {
    if (one.is_kept) paths.push_back(std::move(one.path));
  }
}

}  // namespace vramscope
