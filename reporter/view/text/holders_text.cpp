// Names the processes that hold what leaked.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/holders_text.h"

#include <algorithm>
#include <numeric>

#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

std::uint64_t sum_of(const std::vector<LeakHolder>& holders) {
  return std::accumulate(
      holders.begin(), holders.end(), std::uint64_t{0},
      [](std::uint64_t sum, const LeakHolder& holder) { return sum + holder.bytes; });
}

// "rank 0 (4708) 2.00 MiB, rank 1 (4709) 1.00 MiB".
std::string each_text(const std::vector<LeakHolder>& holders) {
  std::string text;
  for (const LeakHolder& holder : holders) {
    text += (text.empty() ? "" : ", ") + who_text(holder) + " " + amount_text(holder.bytes);
  }
  return text;
}

}  // namespace

std::string of_processes(std::size_t some, std::size_t all) {
  return count_text(some) + " of " + count_text(all);
}

std::string who_text(const LeakHolder& holder) {
  return process_text(*holder.process) + (holder.death.empty() ? "" : " (" + holder.death + ")");
}

std::string holders_text(const std::vector<LeakHolder>& holders, std::size_t processes,
                         std::uint64_t bytes) {
  constexpr std::size_t kNamed = 3;
  if (holders.empty() || processes < 2) return "";
  const bool are_all = sum_of(holders) >= bytes;
  if (holders.size() == 1 && are_all) return ", in " + who_text(holders[0]) + " alone";
  const std::uint64_t most = holders.front().bytes;
  const std::uint64_t least = holders.back().bytes;
  if (holders.size() == processes && most == least) {
    return ", " + amount_text(most) + " in each of " + count_text(processes) + " processes";
  }
  std::string text = ", in " + of_processes(holders.size(), processes) + " processes";
  if (!are_all) text += " or more";
  if (holders.size() <= kNamed) return text + ": " + each_text(holders);
  if (most == least) return text + ", " + amount_text(most) + " each";
  return text + ", " + amount_text(least) + " to " + amount_text(most) + ", most in " +
         who_text(holders.front());
}

std::string spread_text(std::vector<LeakHolder> processes) {
  if (processes.size() < 2 || sum_of(processes) == 0) return "";
  put_most_first(processes);
  const LeakHolder& most = processes.front();
  const std::uint64_t least = processes.back().bytes;
  std::string text = count_text(processes.size()) + " processes left ";
  const bool is_bound = std::any_of(processes.begin(), processes.end(),
                                    [](const LeakHolder& one) { return one.at_least.has_value(); });
  if (is_bound) text += "at most ";
  if (most.bytes == least) return text + amount_text(least) + " each";
  // The most first; of an even number it is the mean of the middle two.
  const std::size_t half = processes.size() / 2;
  const std::uint64_t median =
      middle_of(processes[half].bytes, processes[(processes.size() - 1) / 2].bytes);
  return text + amount_text(least) + " to " + amount_text(most.bytes) + " each, median " +
         amount_text(median) + ", most in " + who_text(most);
}

}  // namespace vramscope
