// Plays traces through all policies and prints what each reserves, asks of the driver and costs:
// the tables of README.md.
// SPDX-License-Identifier: Apache-2.0
//
// trace_policies [--device TIMES] [--rounds N] [NAME=FILE]...   Traces that `run --trace` wrote,
// after those of the benchmark. The device has so many times what a trace needs at its peak (1.25);
// pairs are timed in so many rounds, all policies in each (9).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/trial/granules.h"
#include "test/bench/policies.h"
#include "test/bench/traces.h"

namespace vramscope::bench {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kLeastDevice = 512 << 20;

struct Played {
  std::string name;
  Needs needs;
  std::vector<Uses> uses;  // by policy
  std::vector<double> ns;  // medians, by policy
};

TraceSteps steps_of(const Trace& trace) {
  TraceSteps found{.steps = {}, .slots = trace.slots};
  std::vector<std::uint64_t> held(trace.slots);
  for (const Step& step : trace.steps) {
    const bool came = step.bytes > 0;
    if (came) held[step.slot] = step.bytes;
    found.steps.push_back({.what = came ? TraceStep::What::came : TraceStep::What::freed,
                           .place = {},
                           .slot = step.slot,
                           .bytes = held[step.slot]});
  }
  return found;
}

// Ends the program where the file is no whole trace.
TraceSteps steps_of(const std::string& file) {
  const TraceInput input(file);
  std::string problem = input.problem();
  TraceSteps found;
  if (problem.empty()) {
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    if (reader.problem().empty()) static_cast<void>(read_trace_steps(reader, found));
    problem = reader.problem();
  }
  if (problem.empty()) return found;
  std::fprintf(stderr, "trace_policies: cannot read '%s': %s\n", file.c_str(), problem.c_str());
  std::exit(2);
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

Played play(std::string name, const TraceSteps& trace, double times, int rounds) {
  Played played{.name = std::move(name), .needs = needs_of(trace), .uses = {}, .ns = {}};
  const double needed = std::max(static_cast<double>(played.needs.device.peak_bytes), kLeastDevice);
  const auto device_bytes =
      simulator::round_up(static_cast<std::uint64_t>(needed * times), simulator::kGranule);
  std::vector<std::vector<double>> samples(policies().size());
  for (const PolicyRow& policy : policies()) {
    played.uses.push_back(uses_of(trace, policy, device_bytes));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].push_back(ns_per_pair(trace, policies()[i], device_bytes));
    }
  }
  for (const auto& of_policy : samples) {
    if (rounds > 0) played.ns.push_back(median(of_policy));
  }
  return played;
}

void print_needs(const std::vector<Played>& all) {
  std::printf(
      "| trace | device: pairs | peak requested, MiB | pinned: pairs | peak requested, MiB |\n"
      "|---|---|---|---|---|\n");
  for (const Played& one : all) {
    std::printf("| %s | %lu | %.0f | %lu | %.0f |\n", one.name.c_str(), one.needs.device.pairs,
                static_cast<double>(one.needs.device.peak_bytes) / kMiB, one.needs.pinned.pairs,
                static_cast<double>(one.needs.pinned.peak_bytes) / kMiB);
  }
}

// A row for each trace to which it applies, a column for each policy.
void print_table(const char* title, const std::vector<Played>& all,
                 const std::function<bool(const Played&)>& applies,
                 const std::function<std::string(const Played&, std::size_t)>& cell) {
  std::printf("\n%s\n\n| trace |", title);
  for (const PolicyRow& policy : policies()) std::printf(" %s |", policy.name);
  std::printf("\n|---|");
  for (std::size_t i = 0; i < policies().size(); ++i) std::printf("---|");
  std::printf("\n");
  for (const Played& one : all) {
    if (!applies(one)) continue;
    std::printf("| %s |", one.name.c_str());
    for (std::size_t i = 0; i < policies().size(); ++i) std::printf(" %s |", cell(one, i).c_str());
    std::printf("\n");
  }
}

std::string in_words(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// What was refused makes every other number of its cell smaller, so it stands beside it.
std::string reserved(const Needed& needed, const Used& used) {
  const std::string ratio = in_words(
      "%.2f", static_cast<double>(used.peak_bytes) / static_cast<double>(needed.peak_bytes));
  return used.refused == 0 ? ratio : ratio + ", refuses " + std::to_string(used.refused);
}

std::string calls(const Needed& needed, const Used& used) {
  return in_words(
      "%.0f", 1000 * static_cast<double>(used.driver_calls) / static_cast<double>(needed.pairs));
}

std::string hits(const Needed& needed, const Used& used) {
  return in_words("%.1f %%",
                  100 * static_cast<double>(used.hits) / static_cast<double>(needed.pairs));
}

void print(const std::vector<Played>& all, bool timed) {
  const auto has_device = [](const Played& one) { return one.needs.device.pairs > 0; };
  const auto has_pinned = [](const Played& one) { return one.needs.pinned.pairs > 0; };
  using Cell = std::string (*)(const Needed&, const Used&);
  const auto of_device = [](Cell cell) {
    return [cell](const Played& one, std::size_t i) {
      return cell(one.needs.device, one.uses[i].device);
    };
  };
  const auto of_pinned = [](Cell cell) {
    return [cell](const Played& one, std::size_t i) {
      return cell(one.needs.pinned, one.uses[i].pinned);
    };
  };
  print_needs(all);
  print_table("Device memory: peak reserved / peak requested", all, has_device,
              of_device(reserved));
  print_table("Device memory: driver calls in 1,000 pairs", all, has_device, of_device(calls));
  print_table("Device memory: served without a driver call", all, has_device, of_device(hits));
  print_table("Pinned memory: peak reserved / peak requested", all, has_pinned,
              of_pinned(reserved));
  print_table("Pinned memory: driver calls in 1,000 pairs", all, has_pinned, of_pinned(calls));
  if (!timed) return;
  print_table(
      "Nanoseconds a pair, in the allocator", all, [](const Played&) { return true; },
      [](const Played& one, std::size_t i) { return in_words("%.0f", one.ns[i]); });
}

void print_csv(const std::vector<Played>& all) {
  std::printf("trace,policy,memory,pairs,requested_peak,hits,refused,driver_calls,reserved_peak\n");
  const auto line = [](const Played& one, const PolicyRow& policy, const char* memory,
                       const Needed& needed, const Used& used) {
    std::printf("%s,\"%s\",%s,%lu,%lu,%lu,%lu,%lu,%lu\n", one.name.c_str(), policy.name, memory,
                needed.pairs, needed.peak_bytes, used.hits, used.refused, used.driver_calls,
                used.peak_bytes);
  };
  for (const Played& one : all) {
    for (std::size_t i = 0; i < policies().size(); ++i) {
      line(one, policies()[i], "device", one.needs.device, one.uses[i].device);
      line(one, policies()[i], "pinned", one.needs.pinned, one.uses[i].pinned);
    }
  }
}

std::vector<Trace> made_traces() {
  return {ping_pong("same 1 MiB", 1 << 20, 10000),
          ping_pong("same 64 MiB", 64 << 20, 10000),
          steady("1,000 live, random", 1000, 20000, 8ull << 30),
          steady("10,000 live, random", 10000, 40000, 40ull << 30),
          training("training", 12),
          training("training, lengths vary", 12, Lengths::varying)};
}

struct Arguments {
  double times = 1.25;
  int rounds = 9;
  bool csv = false;
  std::vector<std::pair<std::string, std::string>> files;
};

// False: a word is not understood; it has been said which.
bool understand(int argc, char** argv, Arguments& found) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    if (word == "--csv") {
      found.csv = true;
    } else if (word == "--device" && i + 1 < argc) {
      found.times = std::max(1.0, std::atof(argv[++i]));
    } else if (word == "--rounds" && i + 1 < argc) {
      found.rounds = std::atoi(argv[++i]);
    } else if (equals != std::string_view::npos) {
      found.files.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else {
      std::fprintf(stderr,
                   "trace_policies: --device TIMES, --rounds N, --csv or NAME=FILE expected, found "
                   "'%s'\n",
                   argv[i]);
      return false;
    }
  }
  return true;
}

int run(int argc, char** argv) {
  Arguments arguments;
  if (!understand(argc, argv, arguments)) return 2;
  const int rounds = arguments.csv ? 0 : arguments.rounds;
  std::vector<Played> all;
  for (const Trace& trace : arguments.csv ? std::vector<Trace>{} : made_traces()) {
    all.push_back(play(trace.name, steps_of(trace), arguments.times, rounds));
  }
  for (const auto& [name, file] : arguments.files) {
    all.push_back(play(name, steps_of(file), arguments.times, rounds));
  }
  if (arguments.csv) {
    print_csv(all);
  } else {
    print(all, rounds > 0);
  }
  return 0;
}

}  // namespace
}  // namespace vramscope::bench

int main(int argc, char** argv) { return vramscope::bench::run(argc, argv); }
