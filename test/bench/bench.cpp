// Runs the same traces over every plugin, in one process, in interleaved rounds.
// SPDX-License-Identifier: Apache-2.0
//
// bench --rounds N [--trace NAME]... PLUGIN.so...   One JSON object a line on stdout; scripts/bench
// reads them, makes medians and ratios, and prints the table.
#include <dlfcn.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "test/bench/plugin.h"
#include "test/bench/threads.h"
#include "test/bench/traces.h"

namespace vramscope::bench {
namespace {

constexpr std::uint64_t kCapacity = 800ull << 30;
constexpr std::uint64_t kHugeCapacity = 64ull << 40;  // for a million live blocks
constexpr std::uint32_t kTags = 1024;                 // sites of a middling program

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

// Time that this thread ran: other people's work on the machine is not in it.
double ran_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Addresses by slot; released by the destructor when a trace ended early.
class Run {
 public:
  Run(const Plugin& plugin, const Trace& trace, std::uint64_t capacity)
      : plugin_(plugin), trace_(trace), held_(trace.slots), self_(plugin.create(capacity)) {}
  ~Run() {
    for (void* address : held_) {
      if (address) plugin_.release(self_, address);
    }
    plugin_.destroy(self_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  bool pass() {
    return std::all_of(trace_.steps.begin(), trace_.steps.end(),
                       [this](const Step& step) { return perform(step); });
  }

  bool perform(const Step& step) {
    void*& address = held_[step.slot];
    if (step.bytes == 0) {
      plugin_.release(self_, address);
      address = nullptr;
      return true;
    }
    const std::size_t unit = plugin_.bytes_per_unit;
    address = plugin_.allocate(self_, (step.bytes + unit - 1) / unit, 1 + step.slot % kTags);
    return address != nullptr;
  }

  [[nodiscard]] const void* at(std::uint32_t slot) const { return held_[slot]; }
  [[nodiscard]] std::uint64_t peak_reserved() const { return plugin_.peak_reserved(self_); }

 private:
  const Plugin& plugin_;
  const Trace& trace_;
  std::vector<void*> held_;
  void* self_;
};

// Live blocks by address: says whether a new one overlaps or is misaligned.
class Checker {
 public:
  std::uint64_t overlaps = 0;
  std::uint64_t misaligned = 0;

  void add(std::uint64_t address, std::uint64_t bytes, std::size_t alignment) {
    if (address % alignment != 0) ++misaligned;
    const auto after = live_.lower_bound(address);
    if (after != live_.end() && after->first < address + bytes) ++overlaps;
    if (after != live_.begin() && std::prev(after)->second > address) ++overlaps;
    live_[address] = address + bytes;
  }
  void remove(std::uint64_t address) { live_.erase(address); }

 private:
  std::map<std::uint64_t, std::uint64_t> live_;
};

bool check(const Plugin& plugin, const Trace& trace) {
  Run run(plugin, trace, kCapacity);
  Checker checker;
  bool is_served = true;
  for (const Step& step : trace.steps) {
    const auto before = reinterpret_cast<std::uint64_t>(run.at(step.slot));
    is_served = run.perform(step);
    if (!is_served) break;
    if (plugin.alignment == 0) continue;
    if (step.bytes == 0) {
      checker.remove(before);
    } else {
      const std::uint64_t bytes = std::max<std::uint64_t>(1, step.bytes / plugin.bytes_per_unit);
      checker.add(reinterpret_cast<std::uint64_t>(run.at(step.slot)), bytes, plugin.alignment);
    }
  }
  std::printf(
      "{\"check\": \"%s\", \"trace\": \"%s\", \"overlaps\": %lu, \"misaligned\": %lu, "
      "\"served\": %s, \"peak_requested\": %lu, \"peak_reserved\": %lu}\n",
      plugin.name, trace.name.c_str(), checker.overlaps, checker.misaligned,
      is_served ? "true" : "false", trace.peak_bytes, run.peak_reserved());
  return is_served && checker.overlaps == 0 && checker.misaligned == 0;
}

// One sample: the allocator is warm, the time is a mean over at least `kLeastPairs`.
void measure(const Plugin& plugin, const Trace& trace, int round) {
  constexpr std::uint64_t kLeastPairs = 200000;
  Run run(plugin, trace, kCapacity);
  run.pass();
  const std::uint64_t passes = std::max<std::uint64_t>(2, kLeastPairs / trace.pairs);
  const double begin = ran_ns();
  for (std::uint64_t i = 0; i < passes; ++i) run.pass();
  const double ns = (ran_ns() - begin) / static_cast<double>(passes * trace.pairs);
  std::printf("{\"plugin\": \"%s\", \"trace\": \"%s\", \"round\": %d, \"ns_per_pair\": %.2f}\n",
              plugin.name, trace.name.c_str(), round, ns);
}

// A fixed loop of arithmetic: what the machine was worth beside each sample.
void probe_noise(const Plugin& plugin, int round) {
  constexpr int kSteps = 5000000;
  std::uint64_t x = 88172645463325252ull;
  const double begin = ran_ns();
  for (int i = 0; i < kSteps; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    asm volatile("" : "+r"(x));
  }
  std::printf("{\"noise\": \"%s\", \"round\": %d, \"ns_per_step\": %.4f}\n", plugin.name, round,
              (ran_ns() - begin) / kSteps);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::uint32_t kMillion = 1000000;

// Times each step, keeping the least time so far of each; tells the memory that the first
// million live blocks took, 0 when a request was refused.
std::uint64_t time_steps(const Plugin& plugin, const Trace& trace, Run& run,
                         std::vector<float>& shortest) {
  const std::uint64_t before = resident_bytes();
  std::uint64_t resident = 0;
  double last = now_ns();
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    if (!run.perform(trace.steps[i])) {
      std::fprintf(stderr, "bench: %s refused step %zu of %s\n", plugin.name, i,
                   trace.name.c_str());
      return 0;
    }
    double now = now_ns();
    shortest[i] = std::min(shortest[i], static_cast<float>(now - last));
    if (i + 1 == kMillion) {
      resident = resident_bytes() - before;
      now = now_ns();
    }
    last = now;
  }
  return resident;
}

// Nanoseconds a pair, one free and one allocation at random, while all blocks of a steady trace
// live.
double time_replacements(Run& run, const Trace& trace) {
  const auto fill = trace.steps.begin() + trace.slots;
  const auto end = trace.steps.end() - trace.slots;
  std::for_each(trace.steps.begin(), fill, [&](const Step& step) { run.perform(step); });
  const double begin = ran_ns();
  std::for_each(fill, end, [&](const Step& step) { run.perform(step); });
  const double ns = (ran_ns() - begin) / (static_cast<double>(end - fill) / 2);
  std::for_each(end, trace.steps.end(), [&](const Step& step) { run.perform(step); });
  return ns;
}

// The same with a thousand blocks.
double time_thousand(const Plugin& plugin) {
  const Trace trace = steady("rnd1k", kMillion / 1000, 200000, kHugeCapacity / 2000);
  Run run(plugin, trace, kHugeCapacity);
  double least = 1e30;
  for (int pass = 0; pass < 10; ++pass) least = std::min(least, time_replacements(run, trace));
  return least;
}

// The longest call of a deterministic sequence. A preempted call is long by accident, in one pass:
// of each call the shortest time over some passes counts, each pass on a fresh allocator.
void measure_million(const Plugin& plugin, int passes) {
  const Trace trace = steady("rnd1M", kMillion, 200000, kHugeCapacity / 2);
  std::vector<float> shortest(trace.steps.size(), 1e30f);
  double warm_ns = 1e30;
  std::uint64_t resident = 0;
  for (int pass = 0; pass < passes; ++pass) {
    Run run(plugin, trace, kHugeCapacity);
    const std::uint64_t bytes = time_steps(plugin, trace, run, shortest);
    if (bytes == 0) return;
    resident = std::max(resident, bytes);
    warm_ns = std::min(warm_ns, time_replacements(run, trace));
  }
  const auto longest = std::max_element(shortest.begin(), shortest.end());
  std::printf(
      "{\"million\": \"%s\", \"longest_call_ns\": %.0f, \"longest_call_step\": %td, "
      "\"ns_per_pair\": %.1f, \"ns_per_pair_of_thousand\": %.1f, \"bytes_per_block\": %.1f}\n",
      plugin.name, *longest, longest - shortest.begin(), warm_ns, time_thousand(plugin),
      static_cast<double>(resident) / kMillion);
}

std::vector<const Plugin*> load(const std::vector<std::string>& paths) {
  std::vector<const Plugin*> plugins;
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? dlsym(library, "vramscope_bench_plugins") : nullptr;
    if (!symbol) {
      std::fprintf(stderr, "bench: %s\n", dlerror());
      std::exit(2);
    }
    int count = 0;
    const Plugin* first = reinterpret_cast<PluginsOf>(symbol)(&count);
    for (int i = 0; i < count; ++i) plugins.push_back(first + i);
  }
  return plugins;
}

void use_first_processor() {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
}

void use_all_processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  sched_setaffinity(0, sizeof all, &all);
}

constexpr int kThreadRounds = 11;  // medians of a lock that is now lucky, now not

struct Options {
  int rounds = 5;
  std::vector<std::string> traces;  // none: all
  std::vector<std::string> paths;   // of plugins
};

bool is_wanted(const Options& options, const std::string& trace) {
  const auto& names = options.traces;
  return names.empty() || std::find(names.begin(), names.end(), trace) != names.end();
}

std::vector<Trace> make_traces(const Options& options) {
  std::vector<Trace> traces = {ping_pong("pp1M", 1 << 20, 100000),
                               ping_pong("pp4K", 4096, 100000),
                               steady("rnd1k", 1000, 20000, 8ull << 30),
                               steady("rnd10k", 10000, 40000, 40ull << 30),
                               training("train", 12),
                               steady("rnd100k", 100000, 100000, 400ull << 30)};
  std::erase_if(traces, [&](const Trace& trace) { return !is_wanted(options, trace.name); });
  return traces;
}

int run(const Options& options) {
  const std::vector<Trace> traces = make_traces(options);
  const std::vector<const Plugin*> plugins = load(options.paths);
  bool is_correct = true;
  for (const Plugin* plugin : plugins) {
    for (const Trace& trace : traces) is_correct &= check(*plugin, trace);
  }
  if (!is_correct) return 1;
  for (int round = 0; round < options.rounds; ++round) {
    for (const Trace& trace : traces) {
      for (const Plugin* plugin : plugins) measure(*plugin, trace, round);
    }
    for (const Plugin* plugin : plugins) probe_noise(*plugin, round);
    std::fflush(stdout);
  }
  use_all_processors();
  for (int round = 0; round < kThreadRounds; ++round) {
    for (const Plugin* plugin : plugins) {
      for (const int count : {1, 2, 4}) {
        if (is_wanted(options, "threads")) measure_threads(*plugin, count, round);
      }
    }
  }
  use_first_processor();
  for (const Plugin* plugin : plugins) {
    const bool is_ours = std::strcmp(plugin->name, "vramscope native-safe") == 0;
    if (is_ours && is_wanted(options, "rnd1M")) {
      measure_million(*plugin, options.rounds < 10 ? 2 : 3);
    }
  }
  return 0;
}

}  // namespace
}  // namespace vramscope::bench

int main(int argc, char** argv) {
  vramscope::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--rounds") == 0 && has_value) {
      options.rounds = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--trace") == 0 && has_value) {
      options.traces.emplace_back(argv[++i]);
    } else {
      options.paths.emplace_back(argv[i]);
    }
  }
  if (options.paths.empty() || options.rounds < 1) {
    std::fprintf(stderr, "usage: bench [--rounds N] [--trace NAME]... PLUGIN.so...\n");
    return 2;
  }
  // glibc leaves out atomic instructions while a process has one thread: that would flatter all.
  std::thread([] { pause(); }).detach();
  vramscope::bench::use_first_processor();
  return vramscope::bench::run(options);
}
