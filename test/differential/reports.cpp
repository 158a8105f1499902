// Asks for reports, and writes what the program knows beside them.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/reports.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

unsigned asked = 0;  // reports so far
bool ran_together = false;

std::string path_of(const World& world, unsigned number, const char* ending) {
  return world.folder + "/" + std::to_string(getpid()) + "." + std::to_string(number) + ending;
}

// One fact a line: calls SYMBOL N FAILURES; sum DEVICE KIND LIVE PEAK MADE; site NUMBER LIVE
// OF_GRAPHS; range SITE OFFSET BYTES; held BYTES; together. Or only: nothing.
void write_known(World& world, unsigned number) {
  std::ofstream file(path_of(world, number, ".known"));
  const std::lock_guard lock(world.mutex);
  file << counted_calls() << site_ranges();
  for (std::size_t device = 0; device < world.sums.size(); ++device) {
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      const World::Sum& sum = world.sums[device][kind];
      if (sum.made == 0) continue;
      file << "sum " << device << ' ' << name_of(static_cast<MemoryKind>(kind)) << ' ' << sum.live
           << ' ' << sum.peak << ' ' << sum.made << '\n';
    }
  }
  for (std::size_t i = 0; i < kSites; ++i) {
    const World::SiteBytes& site = world.by_site[i];
    file << "site " << i << ' ' << site.live << ' ' << site.of_graphs << '\n';
  }
  file << "held " << world.held_bytes << '\n';
  if (ran_together) file << "together\n";
}

void wait_for(const World& world, unsigned number) {
  const std::string path = path_of(world, number, ".json");
  while (access(path.c_str(), F_OK) != 0) {  // the process's alarm ends a wait in vain
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

// More in a second than a signal is given would be waited for in vain.
bool may_ask_for_report() {
  constexpr unsigned kMost = 10;
  static unsigned times = 0;
  return times++ < kMost;
}

void request_report(World& world) {
  write_known(world, ++asked);
  raise(SIGUSR1);
  wait_for(world, asked);
}

void ask_for_report_soon(World& world) {
  if (world.profiled) ++asked;
  if (world.profiled || world.has_handler) raise(SIGUSR1);
}

void wait_for_reports(World& world) {
  if (asked != 0) wait_for(world, asked);
}

void write_known_before_end(World& world) {
  if (world.profiled) write_known(world, asked + 1);
}

void write_nothing_known_before_end(const World& world) {
  if (world.profiled) std::ofstream(path_of(world, asked + 1, ".known")) << "nothing\n";
}

void note_threads_together() { ran_together = true; }

}  // namespace vramscope::differential
