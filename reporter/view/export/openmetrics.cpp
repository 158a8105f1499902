// OpenMetrics text, as Prometheus and its text file collector read it: few labels, base units.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "reporter/report/memory_name.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// A label's value: the format escapes three characters.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : harmless(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string seconds(std::uint64_t ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%" PRIu64 ".%09" PRIu64, ns / 1'000'000'000,
                ns % 1'000'000'000);
  return text.data();
}

class Metrics {
 public:
  Metrics(const Report& report, Output& output)
      : output_(output),
        pid_(std::to_string(report.process.pid)),
        is_of_several_(is_of_several(report)) {}

  // The next family. unit: the name's last word, or "".
  void family(std::string_view name, std::string_view type, std::string_view unit,
              std::string_view help) {
    name_ = "vramscope_" + std::string(name);
    is_counter_ = type == "counter";
    output_ << "# TYPE " << name_ << " " << type << "\n";
    if (!unit.empty()) output_ << "# UNIT " << name_ << " " << unit << "\n";
    output_ << "# HELP " << name_ << " " << help << "\n";
  }
  // The next family, a gauge of bytes. Processes ended, and peaked, at different times.
  void bytes(std::string_view name, const std::string& help) {
    family(name, "gauge", "bytes",
           is_of_several_ ? help + " Added over processes at different times." : help);
  }
  void sample(const Labels& labels, const std::string& value, std::string_view suffix = "") {
    output_ << name_ << (is_counter_ ? "_total" : suffix) << "{pid=\"" << pid_ << "\"";
    for (const auto& [label, text] : labels) output_ << "," << label << "=" << quoted(text);
    output_ << "} " << value << "\n";
  }
  void sample(const Labels& labels, std::uint64_t value) { sample(labels, std::to_string(value)); }

 private:
  Output& output_;
  std::string pid_;
  bool is_of_several_;
  std::string name_;
  bool is_counter_ = false;
};

Labels labels_of(Kind kind, std::uint16_t device) {
  Labels labels{{"kind", std::string(kKindNames[static_cast<std::size_t>(kind)])}};
  if (has_device(kind)) labels.emplace_back("device", std::to_string(device));
  return labels;
}

void add_kinds(const Exported& exported, Metrics& metrics) {
  const auto add = [&](const std::function<std::uint64_t(const KindFacts&)>& value) {
    for (const KindFacts& kind : exported.report().kinds)
      metrics.sample(labels_of(kind.kind, kind.device), value(kind));
  };
  metrics.bytes("requested_bytes", "Requested and live.");
  add([](const KindFacts& kind) { return kind.current_bytes; });
  if (!tells_frees(exported.report())) return;  // a snapshot has what was live alone
  metrics.bytes("requested_peak_bytes", "The most that was live at once.");
  add([](const KindFacts& kind) { return kind.peak_bytes; });
  metrics.family("allocations", "counter", "", "Allocations.");
  add([](const KindFacts& kind) { return kind.allocations; });
  metrics.family("frees", "counter", "", "Frees.");
  add([](const KindFacts& kind) { return kind.frees; });
}

void add_kept(const Exported& exported, Metrics& metrics) {
  using Key = std::tuple<Kind, std::uint16_t, std::string>;
  std::map<Key, std::uint64_t> kept;
  for (const LeakUsage& usage : exported.usage()) {
    for (const KeptUsage& one : usage.kept)
      kept[{usage.kind, usage.device, one.holder}] += one.bytes;
  }
  metrics.bytes("kept_bytes",
                "Of the requested bytes: held by caches of frameworks, or kept by libraries by "
                "design.");
  for (const auto& [key, bytes] : kept) {
    const auto& [kind, device, holder] = key;
    Labels labels = labels_of(kind, device);
    labels.emplace_back("held_by", holder);
    metrics.sample(labels, bytes);
  }
}

void add_devices(const Exported& exported, Metrics& metrics) {
  const auto add =
      [&](const std::function<std::optional<std::uint64_t>(const DeviceReport&)>& value) {
        for (const DeviceReport& device : exported.report().devices) {
          const std::optional<std::uint64_t> known = value(device);
          if (!known) continue;  // a file of another tool does not tell
          const std::string index = std::to_string(device.facts.index);
          metrics.sample({{"device", index}, {"name", device.facts.name}}, *known);
        }
      };
  using Stat = std::uint64_t;
  metrics.family("device", "info", "", "The GPU.");
  for (const DeviceReport& device : exported.report().devices) {
    metrics.sample({{"device", std::to_string(device.facts.index)},
                    {"gpu", gpu_name(exported.report(), device.facts.index)},
                    {"name", device.facts.name},
                    {"uuid", device.facts.uuid}},
                   "1", "_info");
  }
  metrics.family("device_memory_bytes", "gauge", "bytes", "What the device has.");
  add([](const DeviceReport& device) { return device.facts.total_bytes; });
  if (!is_merged(exported.report())) {  // each of several asked at another time
    metrics.family("device_memory_free_bytes", "gauge", "bytes", "Free when it was last asked.");
    add([](const DeviceReport& device) { return device.facts.free_bytes; });
  }
  metrics.bytes("reserved_bytes", "What the cache holds of the kind device.");
  add([](const DeviceReport& d) { return Stat(d.statistics.reserved_bytes.all.current); });
  if (tells_frees(exported.report())) {
    metrics.bytes("reserved_peak_bytes", "The most that the cache held of the kind device.");
    add([](const DeviceReport& d) { return Stat(d.statistics.reserved_bytes.all.peak); });
    metrics.bytes("needed_peak_bytes",
                  "Of the reserved peak, at most this was needed at once: the rest was idle.");
    add([&](const DeviceReport& d) { return reserved_memory(exported.report(), d).needed_most; });
  }
  metrics.bytes("allocated_bytes", "What blocks in use hold.");
  add([](const DeviceReport& d) -> std::optional<std::uint64_t> {
    const std::int64_t bytes = d.statistics.allocated_bytes.all.current;
    if (bytes < 0) return {};
    return Stat(bytes);
  });
}

void add_ledger(const Exported& exported, Metrics& metrics) {
  constexpr std::string_view kOfOne =
      "Of the used memory of the device, by kind and owner; others: contexts, code and other "
      "processes, where nobody measured the first two.";
  constexpr std::string_view kOfSeveral =
      "Of the used memory of the device, by kind and owner. Added over processes at different "
      "times; others: at most what was outside of all these processes when one of them asked.";
  metrics.family("ledger_bytes", "gauge", "bytes",
                 is_of_several(exported.report()) ? kOfSeveral : kOfOne);
  for (const LedgerEntry& entry : exported.report().ledger) {
    if (entry.device_bytes == 0) continue;
    const std::string device = std::to_string(entry.device);
    metrics.sample({{"device", device}, {"kind", entry.kind}, {"owner", entry.owner}},
                   entry.device_bytes);
  }
}

void add_functions(const Exported& exported, Metrics& metrics) {
  const auto add = [&](const std::function<std::string(const FunctionTotals&)>& value) {
    for (const FunctionFacts& function : exported.report().functions) {
      metrics.sample({{"function", function.name}}, value(function.totals));
    }
  };
  metrics.family("calls", "counter", "", "Calls of a driver function.");
  add([](const FunctionTotals& totals) { return std::to_string(totals.calls); });
  metrics.family("call_failures", "counter", "", "Calls that failed.");
  add([](const FunctionTotals& totals) { return std::to_string(totals.failures); });
  metrics.family("call_seconds", "counter", "seconds", "Time in a driver function.");
  add([](const FunctionTotals& totals) { return seconds(totals.time.total_ns); });
}

}  // namespace

std::string write_openmetrics(const Exported& exported, Output& output) {
  const ProcessFacts& process = exported.report().process;
  Metrics metrics(exported.report(), output);
  metrics.family("process", "info", "", "The program.");
  metrics.sample({{"executable", process.executable},
                  {"mode", process.mode},
                  {"hostname", process.hostname},
                  {"rank", process.rank < 0 ? "" : std::to_string(process.rank)}},
                 "1", "_info");
  add_kinds(exported, metrics);
  add_kept(exported, metrics);
  add_devices(exported, metrics);
  add_ledger(exported, metrics);
  add_functions(exported, metrics);
  output << "# EOF\n";
  return "";
}

}  // namespace vramscope
