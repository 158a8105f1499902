// Lists every field of the report's JSON, for writing and reading (FORMAT.md). An archive `f` has
//   f(name, value)            a number, text, flag, list or struct; default in report.h if missing
//   f.required(name, value)   the same for an identifying field: every file must have it
//   f.fixed(name, json)       written as it is and not read: PyTorch's tools expect it
//   f.if_there(name, value)   an optional value that is written only if it has one
//   f.elements(name, vector)  a list that may be long: one element on each line
//   f.index(name)             the element's number in its list; only written
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reporter/report/cupti_fields.h"
#include "reporter/report/field_forms.h"
#include "reporter/report/named_memory_fields.h"
#include "reporter/report/oom_fields.h"
#include "reporter/report/report.h"
#include "reporter/report/symbol_fields.h"
#include "reporter/report/timeline_fields.h"

namespace vramscope {

inline constexpr std::string_view kSchemaName = "vramscope-report";

template <class Text, class F>
void visit_fields(const Tool<Text>& tool, F&& f) {
  f.fixed("name", "\"vramscope\"");
  f("version", tool.version);
  f("commit", tool.commit);
}

template <IsOne<Duration> Self, class F>
void visit_fields(Self& duration, F&& f) {
  f("count", duration.count);
  f("total_ns", duration.total_ns);
  f("min_ns", duration.min_ns);
  f("max_ns", duration.max_ns);
  f("histogram", duration.histogram);
}

template <IsOne<Timing> Self, class F>
void visit_fields(Self& timing, F&& f) {
  Timing::visit(timing, f);
}

template <IsOne<ProcessFacts> Self, class F>
void visit_fields(Self& process, F&& f) {
  f.required("pid", process.pid);
  f("ppid", process.ppid);
  f("hostname", process.hostname);
  f.required("executable", process.executable);
  f("arguments", process.arguments);
  f("rank", OrNull{process.rank, -1});
  f("local_rank", OrNull{process.local_rank, -1});
  f("world_size", OrNull{process.world_size, -1});
  f("restart", OrNull{process.restart, -1});
  f("job", process.job);
  f("launcher", process.launcher);
  f("start_time_ns", process.start_time_ns);
  f("report_time_ns", process.report_time_ns);
  f("mode", process.mode);
  f("options", Dictionary{process.options});
  f("cuda_driver_version", process.cuda_driver_version);
  f("simulated", process.simulated);
  f("simulated_launches", process.simulated_launches);
  f("ended_by", process.ended_by);
}

template <IsOne<BlockFacts> Self, class F>
void visit_fields(Self& block, F&& f) {
  f.required("address", block.address);
  f.required("size", block.size);
  f("requested_size", block.requested_size);
  f.required("state", block.state);
  f.fixed("frames", "[]");
  f("site", OrNull{block.site, -1});
  f("born_ns", OrNull{block.born_ns, -1});
}

template <IsOne<SegmentFacts> Self, class F>
void visit_fields(Self& segment, F&& f) {
  f("device", Ordinal{segment.device});
  f.required("address", segment.address);
  f.required("total_size", segment.total_size);
  f("allocated_size", segment.allocated_size);
  f("active_size", segment.active_size);
  f("requested_size", segment.requested_size);
  f.fixed("stream", "0");
  f("segment_type", Choice{segment.is_small, "small", "large"});
  f.fixed("segment_pool_id", "[0,0]");
  f("is_expandable", segment.is_expandable);
  f.required("kind", segment.kind);
  f("context", segment.context);
  f("is_direct", segment.is_direct);
  f("is_dedicated", segment.is_dedicated);
  f("is_exported", segment.is_exported);
  f.fixed("frames", "[]");
  f.elements("blocks", segment.blocks);
}

template <IsOne<PageTimes> Self, class F>
void visit_fields(Self& pages, F&& f) {
  f("map", pages.map);
  f("access", pages.access);
  f("unmap", pages.unmap);
}

template <IsOne<DeviceProcess> Self, class F>
void visit_fields(Self& process, F&& f) {
  f("pid", process.pid);
  f("name", process.name);
  f("bytes", process.bytes);
}

template <IsOne<DeviceReport> Self, class F>
void visit_fields(Self& device, F&& f) {
  f.required("index", Ordinal{device.facts.index});
  f("name", device.facts.name);
  f("uuid", device.facts.uuid);
  f("pci_bus_id", device.facts.pci_bus_id);
  f("compute_capability", device.facts.compute_capability);
  f("unified", device.facts.unified);
  f("total_bytes", device.facts.total_bytes);
  f("free_bytes", device.facts.free_bytes);
  f("free_bytes_age_ns", device.facts.free_bytes_age_ns);
  f("limit_bytes", OrNull{device.facts.limit_bytes, 0});
  f("limit_refusals", device.facts.limit_refusals);
  f("outside_bytes", device.facts.outside_bytes);
  f("context_bytes", device.facts.context_bytes);
  f("module_bytes", device.facts.module_bytes);
  f("measured_by", device.facts.measured_by);
  f.elements("other_processes", device.facts.other_processes);
  f("exported_bytes", device.facts.exported_bytes);
  f("pool_bytes", device.facts.pool_bytes);
  f("pool_pending_bytes", device.facts.pool_pending_bytes);
  f.if_there("before_bytes", device.facts.before_bytes);
  f("memory_stats", FlatStatistics{device});
  f("timing", device.timing);
  f("pages", device.facts.pages);
  f.elements("segments", device.segments);
}

template <IsOne<HostReport> Self, class F>
void visit_fields(Self& host, F&& f) {
  f("memory_stats", FlatStatistics{host});
  f("timing", host.timing);
  f.elements("segments", host.segments);
  f.elements("registrations", host.registrations);
}

template <IsOne<LedgerEntry> Self, class F>
void visit_fields(Self& entry, F&& f) {
  f("device", Ordinal{entry.device});
  f.required("kind", entry.kind);
  f.required("owner", entry.owner);
  f("current_bytes", entry.current_bytes);
  f("peak_bytes", entry.peak_bytes);
  f("calls", entry.calls);
  f("device_bytes", entry.device_bytes);
}

template <IsOne<KindFacts> Self, class F>
void visit_fields(Self& kind, F&& f) {
  f.required("kind", kind.kind);
  f("device", Ordinal{kind.device});
  f("current_bytes", kind.current_bytes);
  f("peak_bytes", kind.peak_bytes);
  f("peak_ns", kind.peak_ns);
  f("peak_site", OrNull{kind.peak_site, -1});
  f("peak_thread", kind.peak_thread);
  f("peak_range", kind.peak_range);
  f("allocations", kind.allocations);
  f("frees", kind.frees);
}

template <IsOne<JointPeak> Self, class F>
void visit_fields(Self& joint, F&& f) {
  f("device", Ordinal{joint.facts.device});
  f("current_bytes", joint.facts.current_bytes);
  f("peak_bytes", joint.facts.peak_bytes);
  f("peak_ns", joint.facts.peak_ns);
  f("peak_site", OrNull{joint.facts.peak_site, -1});
  f("peak_thread", joint.facts.peak_thread);
  f("peak_range", joint.facts.peak_range);
  f("live", joint.shares);
}

template <IsOne<TraceReport> Self, class F>
void visit_fields(Self& trace, F&& f) {
  f("path", trace.path);
  f("events", trace.events);
  f("bytes", trace.bytes);
  f("lost", trace.lost);
  f("problem", trace.problem);
}

template <IsOne<FunctionFacts> Self, class F>
void visit_fields(Self& function, F&& f) {
  f.required("name", function.name);
  f("calls", function.totals.calls);
  f("failures", function.totals.failures);
  f("total_ns", function.totals.time.total_ns);
  f("min_ns", function.totals.time.min_ns);
  f("max_ns", function.totals.time.max_ns);
  f("histogram", function.totals.time.histogram);
}

template <IsOne<ModuleFact> Self, class F>
void visit_fields(Self& module, F&& f) {
  f.required("path", module.path);
  f("build_id", module.build_id);
  f("base", module.base);
}

template <IsOne<SourceFact> Self, class F>
void visit_fields(Self& source, F&& f) {
  f.required("path", source.path);
  f("bytes", source.bytes);
  f("modified_ns", source.modified_ns);
}

template <IsOne<CodeFact> Self, class F>
void visit_fields(Self& code, F&& f) {
  f.required("name", code.name);
  f.required("source", code.source);
  f("first_line", code.first_line);
}

template <IsOne<FrameFact> Self, class F>
void visit_fields(Self& frame, F&& f) {
  f("module", OrNull{frame.module, kNoModule});
  f.required("offset", frame.offset);
  f("code", OrNull{frame.code, kNoCode});
  f("line", frame.line);
}

template <IsOne<SiteTotals> Self, class F>
void visit_fields(Self& totals, F&& f) {
  f("live_bytes", totals.live_bytes);
  f("live_count", totals.live_count);
  f("peak_bytes", totals.peak_bytes);
  f("peak_count", totals.peak_count);
  f("total_bytes", totals.total_bytes);
  f("total_count", totals.total_count);
  f("total_ns", totals.total_ns);
}

template <IsOne<SitePart> Self, class F>
void visit_fields(Self& part, F&& f) {
  f.required("kind", part.kind);
  f("device", Ordinal{part.device});
  visit_fields(part.totals, f);
  f("estimate", part.estimate);
  f.if_there("cache", part.cache);
}

template <IsOne<Site> Self, class F>
void visit_fields(Self& site, F&& f) {
  f.index("id");
  f("frames", site.frames);
  visit_fields(site.totals, f);
  f("estimate", site.estimate);
  f("is_left_out", site.is_left_out);
  f("parts", site.parts);
  f("refused_count", site.refused_count);
  f("refused_bytes", site.refused_bytes);
  f("temporary_count", site.temporary_count);
  f("lifetimes", site.lifetimes);
  f("sizes", site.sizes);
  f("live_by_age", site.live_by_age);
  f("live_past", site.live_past);
  f("live_turns", site.live_turns);
  f("live_first", site.live_first);
  f("live_last", site.live_last);
  f("live_span_ns", site.live_span_ns);
  f("live_range", site.live_range);
  f("live_passes", site.live_passes);
  f("live_mark", site.live_mark);
  f("live_marks", site.live_marks);
}

template <IsOne<ThreadStart> Self, class F>
void visit_fields(Self& start, F&& f) {
  f.required("thread", start.thread);
  f("frames", start.frames);
}

template <IsOne<NamedInstant> Self, class F>
void visit_fields(Self& mark, F&& f) {
  f.required("name", mark.name);
  f("time_ns", mark.time_ns);
}

template <IsOne<AxisEntry> Self, class F>
void visit_fields(Self& entry, F&& f) {
  f.required("axis", entry.axis);
  f.required("value", entry.value);
  f("device", Ordinal{entry.device});
  f.required("kind", entry.kind);
  f("own_peak_bytes", entry.own_peak_bytes);
  visit_fields(entry.totals, f);
}

template <IsOne<ProcessDevice> Self, class F>
void visit_fields(Self& device, F&& f) {
  f.required("index", Ordinal{device.index});
  f("ordinal", OrNull{device.ordinal, -1});
  f("name", device.name);
  f("uuid", device.uuid);
  f("pci_bus_id", device.pci_bus_id);
  f("total_bytes", device.total_bytes);
  f("reserved_peak_bytes", device.reserved_peak_bytes);
  f("needed_most_bytes", OrNull{device.needed_most_bytes, -1});
  f("reserved_least_bytes", OrNull{device.reserved_least_bytes, -1});
  f("reserved_most_bytes", OrNull{device.reserved_most_bytes, -1});
  f("others_bytes", OrNull{device.others_bytes, -1});
}

template <IsOne<LiveShare> Self, class F>
void visit_fields(Self& share, F&& f) {
  f("site", OrNull{share.site, -1});
  f.required("kind", share.kind);
  f("device", Ordinal{share.device});
  f("live_bytes", share.live_bytes);
  f("live_count", share.live_count);
  f.if_there("cache", share.cache);
  f.if_there("tenths", share.tenths);
}

template <IsOne<MergedProcess> Self, class F>
void visit_fields(Self& merged, F&& f) {
  f.required("process", merged.process);
  f("trigger", merged.trigger);
  f("sequence", merged.sequence);
  f("devices", merged.devices);
  f("kinds", merged.kinds);
  f("joint_peaks", merged.joint_peaks);
  f("timeline", merged.timeline);
  f("trace", merged.trace);
  f("oom", merged.oom);
  f("live", merged.live);
  f("total_bytes", OrNull{merged.total_bytes, -1});
  f("report", merged.report);
  f("allocating_ns", OrNull{merged.allocating_ns, -1});
  f("build", merged.build);
  f("version", merged.version);
}

template <IsOne<Report> Self, class F>
void visit_fields(Self& report, F&& f) {
  f.required("schema", SchemaMark{});
  f("tool", Tool{report.tool_version, report.tool_commit});
  f("trigger", report.trigger);
  f("sequence", report.sequence);
  f.required("process", report.process);
  f.elements("devices", report.devices);
  f("host", report.host);
  f.elements("ledger", report.ledger);
  f.elements("kinds", report.kinds);
  f.elements("joint_peaks", report.joint_peaks);
  f.elements("axes", report.axes);
  f.elements("functions", report.functions);
  f.elements("modules", report.modules);
  f.elements("sources", report.sources);
  f.elements("codes", report.codes);
  f.elements("frames", report.frames);
  f.elements("sites", report.sites);
  f.elements("threads", report.threads);
  f("timeline", report.timeline);
  f("trace", report.trace);
  f("oom", report.oom);
  f.elements("processes", report.processes);
  f("range_marks", report.range_marks);
  f.elements("marks", report.marks);
  f.if_there("named_memory", report.named_memory);
  f("cupti", report.cupti);
  f("sample_bytes", report.sample_bytes);
  f("dropped_stacks", report.dropped_stacks);
  f("unrecorded_calls", report.unrecorded_calls);
  f("warnings", report.warnings);
  f.if_there("symbols", report.symbols);
}

}  // namespace vramscope
