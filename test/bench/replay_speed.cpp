// How fast `vramscope replay` plays traces: events a second on one core, by settings.
// SPDX-License-Identifier: Apache-2.0
//
// replay_speed [--rounds N] NAME=FILE...   Prints one line of JSON for each trace and setting: its
// events and how many nanoseconds of a core each took, the median of N rounds (5).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/traces/trace_input.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/replay_text.h"
#include "reporter/view/trial/trial_rows.h"

namespace vramscope::bench {
namespace {

// Of this thread: other work on the machine does not count.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Ends the program where the file is no whole trace.
TrialSteps steps_of(const std::string& file) {
  const TraceInput input(file);
  std::string problem = input.problem();
  TrialSteps steps;
  if (problem.empty()) {
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    problem = reader.problem();
    if (problem.empty()) problem = read_trial_steps(reader, TraceOf::vramscope, steps);
  }
  if (problem.empty() && recorded_row(steps).row) return steps;
  std::fprintf(stderr, "bench: cannot replay '%s': %s\n", file.c_str(), problem.c_str());
  std::exit(1);
}

double ns_per_event(const TrialSteps& steps, const TrialRow& row, std::size_t rounds) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    TrialProgress progress;
    const double begin = cpu_ns();
    static_cast<void>(play(steps, row.settings, progress));
    samples.push_back((cpu_ns() - begin) / static_cast<double>(steps.steps.size()));
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<long>(rounds / 2), samples.end());
  return samples[rounds / 2];
}

void measure(const std::string& name, const std::string& file, std::size_t rounds) {
  TrialSteps steps = steps_of(file);
  learn(steps, recorded_row(steps).row->settings);
  for (const TrialRow& row : usual_rows(steps)) {
    JsonText json;
    json.object().field("replayed", name).field("settings", settings_text(row));
    json.field("events", steps.steps.size()).key("ns_per_event");
    json.json(std::to_string(ns_per_event(steps, row, rounds)));
    std::string line = json.end().text();
    std::erase(line, '\n');
    std::puts(line.c_str());
  }
}

}  // namespace
}  // namespace vramscope::bench

int main(int count, char** words) {
  std::size_t rounds = 5;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('=');
    if (word == "--rounds" && i + 1 < count) {
      rounds = static_cast<std::size_t>(std::max(1L, std::strtol(words[++i], nullptr, 10)));
    } else if (equals != word.npos) {
      vramscope::bench::measure(word.substr(0, equals), word.substr(equals + 1), rounds);
    } else {
      std::fprintf(stderr, "usage: replay_speed [--rounds N] NAME=FILE...\n");
      return 2;
    }
  }
  return 0;
}
