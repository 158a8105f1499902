// Plays the traces with pinned memory, cut into blocks and in PyTorch's buckets, and prints for
// each how much is pinned, how often the driver is called for how much, and what a pair costs.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/endless_backend.h"
#include "test/bench/traces.h"

namespace vramscope::bench {
namespace {

constexpr Place kPinned{.kind = Kind::pinned, .device = 0, .context = 8};

// How many bytes were asked for is counted.
class Counting : public EndlessBackend {
 public:
  using EndlessBackend::EndlessBackend;
  Grant reserve(Place where, std::size_t bytes) noexcept override {
    reserved_ += bytes;
    return EndlessBackend::reserve(where, bytes);
  }

  std::uint64_t take_reserved() { return std::exchange(reserved_, 0); }

 private:
  std::uint64_t reserved_ = 0;
};

class Run {
 public:
  Run(const Trace& trace, Policy policy, std::uint64_t host_bytes)
      : trace_(trace),
        held_(trace.slots),
        backend_(host_bytes),
        allocator_(backend_, {.policy = policy}) {}

  void pass() {
    for (const Step& step : trace_.steps) {
      Address& address = held_[step.slot];
      if (step.bytes == 0) {
        static_cast<void>(allocator_.free(address, CachingAllocator::Wait::now, kOnly));
      } else {
        address = allocator_.allocate({.where = kPinned, .bytes = step.bytes, .tag = 1}).address;
      }
    }
  }
  HostStatistics statistics() const {
    HostStatistics host;
    static_cast<void>(allocator_.read_host_statistics(host));
    return host;
  }
  std::uint64_t take_reserved() { return backend_.take_reserved(); }

 private:
  static constexpr auto kOnly = CachingAllocator::Only::pinned;

  const Trace& trace_;
  std::vector<Address> held_;
  Counting backend_;
  CachingAllocator allocator_;
};

double ran_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Scheme {
  const char* name;
  Policy policy;
  double host;  // memory of the host, in peaks of the trace
};

constexpr double kAmple = 100;
constexpr Scheme kSchemes[] = {{"buckets", Policy::pytorch, kAmple},
                               {"cut", Policy::native_safe, kAmple},
                               {"cut, little host memory", Policy::native_safe, 2}};

// The first pass is that of a program that begins, the second what one meets that runs on; the peak
// is that of both.
void count(const Trace& trace, const Scheme& scheme) {
  const double peak = static_cast<double>(trace.peak_bytes);
  Run run(trace, scheme.policy, static_cast<std::uint64_t>(peak * scheme.host));
  const auto pairs = static_cast<double>(trace.pairs);
  run.pass();
  const HostStatistics first = run.statistics();
  static_cast<void>(run.take_reserved());
  run.pass();
  const HostStatistics both = run.statistics();
  const auto calls = [](const HostStatistics& s) {
    return static_cast<double>(s.num_host_alloc + s.num_host_free);
  };
  const double mib = static_cast<double>(run.take_reserved()) / (1 << 20);
  std::printf(
      "{\"trace\": \"%s\", \"scheme\": \"%s\", \"reserved\": %.4f, \"first_calls\": %.2f, "
      "\"calls\": %.2f, \"pinned_mib\": %.2f}\n",
      trace.name.c_str(), scheme.name, static_cast<double>(both.reserved_bytes.peak) / peak,
      1000 * calls(first) / pairs, 1000 * (calls(both) - calls(first)) / pairs, 1000 * mib / pairs);
}

void time(const Trace& trace, int rounds) {
  constexpr std::uint64_t kLeastPairs = 100000;
  const std::uint64_t passes = std::max<std::uint64_t>(1, kLeastPairs / trace.pairs);
  std::vector<std::unique_ptr<Run>> runs;
  for (const Scheme& scheme : kSchemes) {
    const auto host = static_cast<double>(trace.peak_bytes) * scheme.host;
    runs.push_back(std::make_unique<Run>(trace, scheme.policy, static_cast<std::uint64_t>(host)));
    runs.back()->pass();
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double begin = ran_ns();
      for (std::uint64_t pass = 0; pass < passes; ++pass) runs[i]->pass();
      const double ns = (ran_ns() - begin) / static_cast<double>(passes * trace.pairs);
      std::printf("{\"trace\": \"%s\", \"scheme\": \"%s\", \"round\": %d, \"ns_per_pair\": %.2f}\n",
                  trace.name.c_str(), kSchemes[i].name, round, ns);
    }
  }
}

void play_all(int rounds) {
  const std::vector<Trace> traces = {ping_pong("pp4K", 4096, 10000),
                                     ping_pong("pp1M", 1 << 20, 10000),
                                     ramp("ramp1k", 1000, 8ull << 30),
                                     ramp("ramp10k", 10000, 60ull << 30),
                                     steady("rnd1k", 1000, 20000, 8ull << 30),
                                     steady("rnd10k", 10000, 40000, 40ull << 30),
                                     training("train", 12),
                                     training("trainvar", 12, Lengths::varying)};
  for (const Trace& trace : traces) {
    for (const Scheme& scheme : kSchemes) count(trace, scheme);
    time(trace, rounds);
  }
}

}  // namespace
}  // namespace vramscope::bench

// pinned_memory [ROUNDS]: a line of JSON for each count and for each of so many times (5).
int main(int argc, char** argv) {
  // glibc leaves out atomic instructions while a process has one thread.
  std::thread([] { pause(); }).detach();
  vramscope::bench::play_all(argc > 1 ? std::atoi(argv[1]) : 5);
}
