// A report against itself.
// SPDX-License-Identifier: Apache-2.0
#include "test/recount/recount.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace vramscope::judge {
namespace {

using Counts = std::map<std::string, std::int64_t>;

std::int64_t number(const Json& value, const char* name) {
  return value.at(name).get<std::int64_t>();
}

void expect(Problems& problems, const std::string& what, std::int64_t want, std::int64_t got) {
  if (want == got) return;
  problems.push_back(what + ": " + std::to_string(got) + " in the report, " + std::to_string(want) +
                     " counted");
}

void check_tiling(Problems& problems, const Json& segments) {
  for (const Json& segment : segments) {
    std::int64_t address = number(segment, "address");
    const std::string name = "segment at " + std::to_string(address);
    std::int64_t live = 0, active = 0;
    bool last_was_free = false;
    for (const Json& block : segment.at("blocks")) {
      expect(problems, name + ": a block's address", address, number(block, "address"));
      address += number(block, "size");
      const std::string& state = block.at("state").get_ref<const std::string&>();
      if (state == "active_allocated") live += number(block, "size");
      if (state != "inactive") active += number(block, "size");
      const bool is_free = state == "inactive";
      if (is_free && last_was_free) problems.push_back(name + ": two free neighbours");
      last_was_free = is_free;
    }
    expect(problems, name + ": its end", address,
           number(segment, "address") + number(segment, "total_size"));
    expect(problems, name + ": allocated_size", live, number(segment, "allocated_size"));
    expect(problems, name + ": active_size", active, number(segment, "active_size"));
  }
}

// No two segments of addresses share one: nothing is recorded twice.
void check_overlaps(Problems& problems, const Json& report, Taken taken) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> ranges;
  const auto add = [&](const Json& segments) {
    for (const Json& segment : segments) {
      const std::string& kind = segment.at("kind").get_ref<const std::string&>();
      const bool is_memory = kind == "device" || kind == "pinned" || kind == "managed" ||
                             kind == "stream_ordered" || kind == "mapping" || kind == "registered";
      if (!is_memory) continue;
      ranges.emplace_back(number(segment, "address"), number(segment, "total_size"), kind);
    }
  };
  for (const Json& device : report.at("devices")) add(device.at("segments"));
  add(report.at("host").at("segments"));
  add(report.at("host").at("registrations"));
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const auto& [before, bytes, kind] = ranges[i - 1];
    const auto& [address, more_bytes, other_kind] = ranges[i];
    if (before + bytes <= address) continue;
    const auto is_ours = [](const std::string& one) { return one == "device" || one == "pinned"; };
    if (taken == Taken::amid_calls && !(is_ours(kind) && is_ours(other_kind))) continue;
    problems.push_back("two segments (" + kind + ", " + other_kind + ") share " +
                       std::to_string(address));
  }
}

Counts device_counts(const Json& segments) {
  Counts counts;
  for (const char* name :
       {"allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
        "active_bytes", "inactive_split_bytes", "requested_bytes"}) {
    for (const char* pool : {".all", ".small_pool", ".large_pool"}) {
      counts[std::string(name) + pool + ".current"] = 0;
    }
  }
  const auto add = [&](const std::string& pool, const char* name, std::int64_t amount) {
    counts[std::string(name) + ".all.current"] += amount;
    counts[std::string(name) + "." + pool + "_pool.current"] += amount;
  };
  for (const Json& segment : segments) {
    if (segment.at("kind") != "device") continue;
    const std::string pool = segment.at("segment_type").get<std::string>();
    const bool is_expandable = segment.at("is_expandable").get<bool>();
    add(pool, "segment", is_expandable ? 0 : 1);
    add(pool, "reserved_bytes", number(segment, "total_size"));
    for (const Json& block : segment.at("blocks")) {
      const std::string& state = block.at("state").get_ref<const std::string&>();
      const std::int64_t size = number(block, "size");
      if (state == "active_allocated")
        add(pool, "allocation", 1), add(pool, "allocated_bytes", size);
      if (state != "inactive") {
        add(pool, "active", 1);
        add(pool, "active_bytes", size);
        add(pool, "requested_bytes", number(block, "requested_size"));
      } else if (segment.at("blocks").size() > 1 && !is_expandable) {
        add(pool, "inactive_split", 1);
        add(pool, "inactive_split_bytes", size);
      }
    }
  }
  return counts;
}

Counts host_counts(const Json& host) {
  Counts counts;
  for (const char* name : {"allocated", "allocated_bytes", "active_requests", "active_bytes",
                           "segment", "reserved_bytes"}) {
    counts[std::string(name) + ".current"] = 0;
  }
  for (const char* list : {"segments", "registrations"}) {
    for (const Json& segment : host.at(list)) {
      counts["segment.current"] += 1;
      counts["reserved_bytes.current"] += number(segment, "total_size");
      for (const Json& block : segment.at("blocks")) {
        const std::string& state = block.at("state").get_ref<const std::string&>();
        if (state == "active_allocated") {
          counts["allocated.current"] += 1;
          counts["allocated_bytes.current"] += number(block, "size");
        }
        if (state != "inactive") {
          counts["active_requests.current"] += 1;
          counts["active_bytes.current"] += number(block, "size");
        }
      }
    }
  }
  return counts;
}

// Every current value is in `counts`, or is 0; none is above its peak, nor apart from its totals.
void check_stats(Problems& problems, const std::string& where, const Json& stats,
                 const Counts& counts) {
  for (const auto& [name, value] : stats.items()) {
    if (!name.ends_with(".current") || name.starts_with("oversize")) continue;
    const auto want = counts.find(name.starts_with("allocated.") && name.find("pool") != name.npos
                                      ? "allocation" + name.substr(9)
                                      : name);
    const std::string stem = name.substr(0, name.size() - 7);
    const auto current = value.get<std::int64_t>();
    const bool is_alias = stem == "allocated.all.";
    const auto found = is_alias ? counts.find("allocation.all.current") : want;
    expect(problems, where + name, found == counts.end() ? 0 : found->second, current);
    const std::int64_t peak = number(stats, (stem + "peak").c_str());
    if (peak < current) problems.push_back(where + stem + "peak is below the current value");
    expect(problems, where + stem + "allocated less freed",
           number(stats, (stem + "allocated").c_str()) - number(stats, (stem + "freed").c_str()),
           current);
  }
  if (stats.empty()) {  // a place that was never used
    for (const auto& [name, value] : counts) expect(problems, where + name, value, 0);
    return;
  }
  for (const auto& [name, value] : counts) {
    if (!stats.contains(name)) problems.push_back(where + name + " is missing");
  }
}

std::int64_t live_bytes(const Json& report) {
  std::int64_t sum = 0;
  const auto add = [&](const Json& segments) {
    for (const Json& segment : segments) {
      for (const Json& block : segment.at("blocks")) {
        if (block.at("state") != "inactive") sum += number(block, "requested_size");
      }
    }
  };
  for (const Json& device : report.at("devices")) add(device.at("segments"));
  add(report.at("host").at("segments"));
  add(report.at("host").at("registrations"));
  return sum;
}

void check_sums(Problems& problems, const Json& report) {
  std::int64_t in_ledger = 0, device_in_ledger = 0, requested = 0, in_sites = 0, in_kinds = 0;
  for (const Json& row : report.at("ledger")) {
    if (row.at("kind") == "device") device_in_ledger += number(row, "current_bytes");
    if (number(row, "calls") == 0) continue;  // what no call of ours is behind
    in_ledger += number(row, "current_bytes");
    if (number(row, "peak_bytes") < number(row, "current_bytes")) {
      problems.push_back("a ledger's peak is below its current value");
    }
  }
  for (const Json& device : report.at("devices")) {
    const Json& stats = device.at("memory_stats");
    if (!stats.empty()) requested += number(stats, "requested_bytes.all.current");
  }
  for (const Json& row : report.at("kinds")) in_kinds += number(row, "current_bytes");
  for (const Json& site : report.at("sites")) in_sites += number(site, "live_bytes");
  expect(problems, "the ledger's device bytes", requested, device_in_ledger);
  expect(problems, "the ledger's bytes", live_bytes(report), in_ledger);
  expect(problems, "the kinds' bytes", live_bytes(report), in_kinds);
  expect(problems, "the sites' live bytes", live_bytes(report), in_sites);
  expect(problems, "unrecorded calls", 0, number(report, "unrecorded_calls"));
}

// What of a figure of all sites is of no known kind, for there was no memory to record it.
std::int64_t of_no_kind(const Json& report, const char* name) {
  std::int64_t sum = 0;
  for (const Json& site : report.at("sites")) {
    sum += number(site, name);
    for (const Json& part : site.at("parts")) sum -= number(part, name);
  }
  return sum;
}

// Of each kind of memory: no peak below what is there now, and the sites explain both, but for what
// is of no known kind.
void check_kinds(Problems& problems, const Json& report) {
  const bool is_all_known = of_no_kind(report, "total_count") == 0;
  std::int64_t unknown = of_no_kind(report, "live_bytes");
  for (const Json& row : report.at("kinds")) {
    const std::string where = "device " + row.at("device").dump() + " " + row.at("kind").dump();
    std::int64_t live = 0, at_peak = 0;
    for (const Json& site : report.at("sites")) {
      for (const Json& part : site.at("parts")) {
        if (part.at("kind") != row.at("kind") || part.at("device") != row.at("device")) continue;
        live += number(part, "live_bytes");
        at_peak += number(part, "peak_bytes");
      }
    }
    unknown -= number(row, "current_bytes") - live;
    if (is_all_known || live > number(row, "current_bytes")) {
      expect(problems, where + " live bytes of all sites", number(row, "current_bytes"), live);
    }
    if (is_all_known || at_peak > number(row, "peak_bytes")) {
      expect(problems, where + " bytes of all sites at the peak", number(row, "peak_bytes"),
             at_peak);
    }
    if (number(row, "peak_bytes") < number(row, "current_bytes")) {
      problems.push_back(where + " peak is below the current value");
    }
  }
  expect(problems, "live bytes of no known kind, less what the kinds have more than their sites", 0,
         unknown);
}

// Memory of a device, by the kinds that FORMAT.md tells of.
bool is_of_device(const std::string& kind) {
  static const std::set<std::string> kinds{"device", "managed",  "stream_ordered",
                                           "array",  "physical", "graph"};
  return kinds.contains(kind);
}

// All kinds of a device together: not below one of them, nor above their sum, and explained.
void check_joint_peaks(Problems& problems, const Json& report) {
  for (const Json& row : report.at("joint_peaks")) {
    const std::string where = "all kinds of device " + row.at("device").dump();
    std::int64_t current = 0, least = 0, most = 0, live = 0;
    for (const Json& kind : report.at("kinds")) {
      if (kind.at("device") != row.at("device")) continue;
      if (!is_of_device(kind.at("kind").get<std::string>())) continue;
      current += number(kind, "current_bytes");
      least = std::max(least, number(kind, "peak_bytes"));
      most += number(kind, "peak_bytes");
    }
    for (const Json& share : row.at("live")) live += number(share, "live_bytes");
    const std::int64_t peak = number(row, "peak_bytes");
    expect(problems, where + ": current_bytes", current, number(row, "current_bytes"));
    expect(problems, where + ": what was live at the peak", live, peak);
    if (peak < std::max(least, current) || peak > most) {
      problems.push_back(where + ": the peak " + std::to_string(peak) + " is not between " +
                         std::to_string(std::max(least, current)) + " and " + std::to_string(most));
    }
  }
}

}  // namespace

bool is_partial(const Json& report) {
  for (const Json& warning : report.at("warnings")) {
    const auto text = warning.get<std::string>();
    if (text.starts_with("a signal handler ended the process during a CUDA call")) return true;
  }
  return false;
}

Problems recount(const Json& report, Taken taken) {
  if (is_partial(report)) return {};
  Problems problems;
  check_overlaps(problems, report, taken);
  for (const Json& device : report.at("devices")) {
    check_tiling(problems, device.at("segments"));
    check_stats(problems, "device " + std::to_string(number(device, "index")) + " ",
                device.at("memory_stats"), device_counts(device.at("segments")));
  }
  const Json& host = report.at("host");
  check_tiling(problems, host.at("segments"));
  check_tiling(problems, host.at("registrations"));
  check_stats(problems, "host ", host.at("memory_stats"), host_counts(host));
  check_sums(problems, report);
  check_kinds(problems, report);
  check_joint_peaks(problems, report);
  const Problems by_axis = recount_axes(report);
  problems.insert(problems.end(), by_axis.begin(), by_axis.end());
  return problems;
}

}  // namespace vramscope::judge
