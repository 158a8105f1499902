// The screen of a report as JSON: the same selection, exact numbers.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/place.h"
#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/site_numbers.h"

namespace vramscope {
namespace {

void process_json(JsonText& json, const Report& report) {
  const ProcessFacts& process = report.process;
  json.key("process").object();
  json.field("pid", process.pid).field("hostname", process.hostname);
  json.field("executable", process.executable).key("arguments").array();
  for (const std::string& argument : process.arguments) json.value(argument);
  json.end().field("mode", process.mode).field("simulated", process.simulated);
  json.field("start_time_ns", process.start_time_ns);
  json.field("report_time_ns", process.report_time_ns).end();
}

void device_json(JsonText& json, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  const Savings saved = savings(device.timing);
  json.object().field("index", device.facts.index).field("name", device.facts.name);
  json.field("total_bytes", device.facts.total_bytes);
  json.field("reserved_peak_bytes", stats.reserved_bytes.all.peak);
  json.field("reserved_current_bytes", stats.reserved_bytes.all.current);
  json.field("allocated_peak_bytes", stats.allocated_bytes.all.peak);
  json.field("allocated_current_bytes", stats.allocated_bytes.all.current);
  json.field("num_ooms", stats.num_ooms).field("num_alloc_retries", stats.num_alloc_retries);
  json.field("allocations", saved.allocations).field("hits", saved.hits);
  json.field("saved_driver_calls", saved.driver_calls).key("estimated_saved_ns");
  (saved.estimated ? json.value(saved.saved_ns) : json.null()).end();
}

void shares_json(JsonText& json, std::string_view key, const std::vector<Share>& shares,
                 std::size_t most, const Report& report, const NameFrame& name) {
  json.key(key).array();
  const std::size_t shown = rows_shown(shares.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const Share& share = shares[i];
    const CallSite site = call_site(report, report.sites[share.site], name, kFramesInJson);
    site_fields(json.object(), report, share.site);
    json.field("kind", kKindNames[static_cast<std::size_t>(share.kind)]);
    json.field("device", share.device).field("bytes", share.bytes).field("count", share.count);
    json.field("called", site.entry).key("frames").array();
    for (const Caller& caller : site.callers) json.value(text(caller));
    json.end().end();
  }
  json.end();
}

void ledger_json(JsonText& json, const Report& report) {
  json.key("ledger").array();
  for (const LedgerEntry& entry : report.ledger) {
    json.object().field("device", entry.device);
    json.field("kind", entry.kind)
        .field("owner", entry.owner)
        .field("current_bytes", entry.current_bytes);
    json.field("peak_bytes", entry.peak_bytes).field("calls", entry.calls);
    json.field("device_bytes", entry.device_bytes).end();
  }
  json.end();
}

}  // namespace

void report_json(JsonText& json, const Report& report, const std::string& path,
                 const NameFrame& name, std::size_t most) {
  json.object().field("file", path).field("trigger", report.trigger);
  json.field("sequence", report.sequence);
  process_json(json, report);
  json.key("devices").array();
  for (const DeviceReport& device : report.devices) {
    if (device.used) device_json(json, device);
  }
  json.end();
  shares_json(json, "peak", shares_of_peak(report), most, report, name);
  shares_json(json, "live", shares_alive(report), most, report, name);
  ledger_json(json, report);
  json.field("sample_bytes", report.sample_bytes).field("dropped_stacks", report.dropped_stacks);
  json.field("unrecorded_calls", report.unrecorded_calls).key("warnings").array();
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end().key("unknown").array();
  for (const std::string& name : report.unknown) json.value(name);
  json.end().end();
}

}  // namespace vramscope
