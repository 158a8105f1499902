// Report is one report as a value: the content that FORMAT.md describes, without its text form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/snapshot.h"
#include "reporter/base/facts.h"
#include "reporter/report/cupti_facts.h"
#include "reporter/report/facts.h"
#include "reporter/report/named_memory.h"
#include "reporter/report/oom_events.h"
#include "reporter/report/symbol_facts.h"

namespace vramscope {

inline constexpr int kReportVersion = 1;

struct BlockFacts {
  Address address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested_size = 0;
  BlockState state = BlockState::inactive;
  std::int64_t site = -1;     // index into Report::sites; -1: unknown, or the block is free
  std::int64_t born_ns = -1;  // after the timeline's start; -1: unknown, or the block is free
};

struct SegmentFacts {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint32_t context = 0;
  Address address = 0;
  std::uint64_t total_size = 0;
  std::uint64_t allocated_size = 0;
  std::uint64_t active_size = 0;
  std::uint64_t requested_size = 0;
  bool is_small = false;
  bool is_expandable = false;
  bool is_direct = false;
  bool is_dedicated = false;
  bool is_exported = false;
  std::vector<BlockFacts> blocks;  // in order; they tile the segment
};

struct DeviceReport {
  DeviceFacts facts;
  std::string label = {};  // not written; see label_gpus(); "": "GPU " and the index
  DeviceStatistics statistics;
  bool used = false;  // false: memory_stats is written empty, as PyTorch does before first use
  Timing timing;
  std::vector<SegmentFacts> segments;  // all kinds except pinned and registered, by kind
};

struct HostReport {
  HostStatistics statistics;
  bool used = false;
  Timing timing;
  std::vector<SegmentFacts> segments;       // of pinned memory
  std::vector<SegmentFacts> registrations;  // of registered memory
};

// Bytes by kind and owner.
struct LedgerEntry {
  std::uint16_t device = 0;
  std::string kind;   // a kind of memory, or a word of ledger_row.h
  std::string owner;  // the object whose code asked, or the driver's purpose
  std::uint64_t current_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t calls = 0;
  std::uint64_t device_bytes = 0;  // of the device's used bytes
};

// One kind of memory on one device.
struct KindFacts {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t current_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_ns = 0;    // time of the peak after the timeline's start
  std::int64_t peak_site = -1;  // the site of the allocation that made the peak; -1: unknown
  std::string peak_thread = {};
  std::string peak_range = {};
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

// The most that one process held of a device at one time, all kinds together, lies between `lower`
// and `upper`, in requested bytes.
struct JointBounds {
  std::uint16_t device = 0;
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// An instant that the program marked.
struct NamedInstant {
  std::uint64_t time_ns = 0;  // after the timeline's start; 0: before it
  std::string name;
};

struct TimelineSeries {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bucket_ns = 0;
  std::vector<std::uint64_t> highest = {};
  std::vector<std::uint64_t> last = {};
};
struct TimelineFacts {
  std::uint64_t start_ns = 0;  // since the epoch: when recording began, which is time 0
  std::uint64_t duration_ns = 0;
  // The length of the intervals of Site::live_past, in allocations or, in reports of earlier
  // versions, in time. The other value is 0; both are 0 if the report has no intervals.
  std::uint64_t past_interval_ns = 0;
  std::uint64_t past_interval = 0;
  std::uint64_t allocations = 0;  // in the run; 0: a report of an earlier version
  std::vector<TimelineSeries> series;
};

struct FunctionFacts {
  std::string name;
  FunctionTotals totals;
};

// The totals of a distinct call stack in requested bytes. peak_*: what was live at the peak of its
// device and kind. Site::parts has the same numbers by kind and device.
struct SiteTotals {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_count = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t total_count = 0;
  std::uint64_t total_ns = 0;

  SiteTotals& operator+=(const SiteTotals& more) {
    live_bytes += more.live_bytes;
    live_count += more.live_count;
    peak_bytes += more.peak_bytes;
    peak_count += more.peak_count;
    total_bytes += more.total_bytes;
    total_count += more.total_count;
    total_ns += more.total_ns;
    return *this;
  }
};
// estimate: the totals that would result if all calls had a stack, not only samples.
struct SitePart {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  SiteTotals totals;
  std::optional<SiteTotals> estimate = {};
  // In a merged report: the framework's cache that holds this memory, as the process's own report
  // tells by the sizes of its requests; "none": no cache. Nothing: sizes tell nothing of it.
  std::optional<std::string> cache = {};
};
// A call stack as it was recorded, and its totals; frames as in Site.
struct RecordedStack {
  std::vector<std::uint32_t> frames;
  std::vector<SitePart> parts;
};

// What one recorded stack held of one kind of memory at a joint peak. frames: the whole stack.
struct JointStack {
  std::vector<std::uint32_t> frames;
  SitePart part;  // the stack's numbers for that kind
  std::uint64_t live_bytes = 0;
};
// What was live at the peak of all kinds of a device's memory together. Only devices with several
// kinds have it.
struct JointPeak {
  KindFacts facts;                    // of all kinds together, given as Kind::device; without calls
  std::vector<OomShare> shares = {};  // by site and kind, the largest first
  // Not written. The shares by recorded stack, noted when a view shortens or joins stacks. Owners
  // and holders are determined from them. Empty: each site's `frames` are a whole stack.
  std::vector<JointStack> stacks = {};
};

struct Site {
  std::vector<std::uint32_t> frames;  // indices into Report::frames, innermost first
  SiteTotals totals;
  std::optional<SiteTotals> estimate = {};
  bool is_left_out = false;  // the calls that were not chosen as samples: their stacks are unknown
  std::vector<SitePart> parts;
  std::uint64_t refused_count = 0;              // allocations that failed because memory ran out
  std::uint64_t refused_bytes = 0;              // bytes that those requested
  std::uint64_t temporary_count = 0;            // freed before the thread's next allocation
  std::vector<std::uint64_t> lifetimes = {};    // of freed allocations, in decades from below 1 us
  std::vector<std::uint64_t> sizes = {};        // by std::bit_width(bytes)
  std::vector<std::uint64_t> live_by_age = {};  // live bytes by the tenth of the run's allocations
  std::vector<std::uint64_t> live_past = {};    // live bytes at the end of each interval of the run
  // How often a live block was allocated after other blocks had been allocated and freed; 0:
  // not known.
  std::uint64_t live_turns = 0;
  std::uint64_t live_first = 0;    // number of the first live allocation in the run; 0: not known
  std::uint64_t live_last = 0;     // number of the last live allocation
  std::uint64_t live_span_ns = 0;  // time between these two allocations
  std::string live_range = {};     // the innermost named range in which all live blocks were
                                   // allocated; "": none
  std::uint64_t live_passes = 0;   // how often the program entered that range; 0: not known
  std::string live_mark = {};  // the repeated mark between whose instants they were allocated; "":
                               // none
  std::uint64_t live_marks = 0;  // how often the program set that mark; 0: not known
  // Not written. In a report that a view changed, the numbers that the sites combined here have in
  // the file; empty: this site's index.
  std::vector<std::uint32_t> numbers = {};
  // Not written. In a report whose stacks a view has shortened, so that some became equal: the
  // recorded stacks. Owners and holders are determined from them. Empty: `frames` is a whole stack.
  std::vector<RecordedStack> whole = {};
  // Not written. A view left some kinds of memory out. What lies between `parts` and `numbers` is
  // then unknown for the rest, and empty.
  bool is_part = false;
};

// What one value of an axis holds of one kind on one device. totals.peak_bytes: at the peak of that
// kind and device. own_peak_bytes: the most that this value ever held.
struct AxisEntry {
  Axis axis = Axis::owner;
  std::string value;
  std::uint16_t device = 0;
  Kind kind = Kind::device;
  std::uint64_t own_peak_bytes = 0;
  SiteTotals totals;
};

// Where a thread began, as far as the stack of its first allocation with a stack shows.
struct ThreadStart {
  std::string thread;                 // as a value of Axis::thread
  std::vector<std::uint32_t> frames;  // indices into Report::frames: the outermost frames,
                                      // innermost first
};
// In no thread do more frames than these precede its own function.
inline constexpr std::size_t kFramesOfStart = 32;

// A device as one process saw it.
struct ProcessDevice {
  std::uint16_t index = 0;    // as in the rest of the report that contains this
  std::int32_t ordinal = -1;  // the process's own number of the device; -1: `index`
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::uint64_t total_bytes = 0;
  std::int64_t reserved_peak_bytes = 0;
  std::int64_t needed_most_bytes = -1;  // of these bytes (reserved_memory.h); -1: not known
  // Of all kinds of memory: ReservedOfAllKinds; -1: not known.
  std::int64_t reserved_least_bytes = -1;
  std::int64_t reserved_most_bytes = -1;
  std::int64_t others_bytes = -1;  // used by others at the last query; -1: not known
};

// What a process had not freed of one call site, of one kind of memory on one device.
struct LiveShare {
  // Index into the sites of the report that contains this; -1: everything without a row of its own.
  std::int64_t site = -1;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t live_bytes = 0;  // requested bytes, without those whose free was pending
  std::uint64_t live_count = 0;
  std::optional<std::string> cache = {};  // as in SitePart
  // In how many tenths of the process's own run the site allocated what is live; nothing: not
  // known.
  std::optional<std::uint64_t> tenths = {};
};

// The parts of one process's report that cannot be added to others'. KindFacts::peak_site and the
// sites of oom are indices into the sites of the report that contains this.
struct MergedProcess {
  ProcessFacts process;
  std::string trigger;
  std::uint64_t sequence = 1;
  std::vector<ProcessDevice> devices;
  std::vector<KindFacts> kinds;
  std::vector<JointPeak> joint_peaks = {};  // without what was live
  TimelineFacts timeline;
  TraceReport trace;
  OomReport oom = {};
  std::vector<LiveShare> live = {};  // the kMostLive largest, and the rest; set in merged reports
  std::int64_t total_bytes = -1;     // ever allocated of all kinds, requested bytes; -1: not known
  std::string report = {};           // absolute path of the process's own report; "": not known
  std::int64_t allocating_ns = -1;   // in successful allocations of all kinds; -1: not known
  std::string build = {};            // build id of the executable; "": none, or not known
  std::string version = {};          // of Vramscope, which recorded it; "": not known
};

// The parts of a report to which a view is limited. Not written.
struct Chosen {
  // Call sites or values of an axis were chosen, not only kinds and devices. Report::kinds are then
  // sums over the chosen ones: bytes at the instant of the kind's own peak, bytes now, allocations,
  // frees.
  bool by_rows = false;
  std::optional<Axis> axis = {};            // values of this axis were chosen, not call sites
  std::optional<Kind> kind = {};            // only this kind is left
  std::optional<std::size_t> threads = {};  // that allocated any of the kinds that are left;
                                            // nothing: not known
  std::vector<KindFacts> kinds = {};        // the kinds that are left, with all their rows
  std::vector<LedgerEntry> ledger = {};  // the whole ledger, since no filter chooses what a device
                                         // uses
  // In a trace, only events up to this time after its first one count; nothing: all count.
  std::optional<std::uint64_t> until_ns = {};
};

// One report. Reading a written report gives an equal value.
struct Report {
  std::string tool_version;
  std::string tool_commit;  // of the recording library; "": not known, or the tool wrote the report
  std::string trigger;      // why it was written, see FORMAT.md; newer reports may have any word
  std::uint64_t sequence = 1;
  ProcessFacts process;
  std::vector<DeviceReport> devices;
  HostReport host;
  std::vector<LedgerEntry> ledger;
  std::vector<KindFacts> kinds;
  std::vector<JointPeak> joint_peaks = {};  // by device; only in reports of one process
  std::vector<AxisEntry> axes;
  std::vector<FunctionFacts> functions;  // those called at least once
  std::vector<ModuleFact> modules;
  std::vector<SourceFact> sources;
  std::vector<CodeFact> codes;
  std::vector<FrameFact> frames;
  std::vector<Site> sites;
  std::vector<ThreadStart> threads = {};  // in the order in which they first allocated
  TimelineFacts timeline;
  TraceReport trace;
  OomReport oom = {};                         // allocations that failed because memory ran out
  std::vector<MergedProcess> processes = {};  // the processes that were merged into this report;
                                              // else empty
  std::uint64_t range_marks = 0;
  std::vector<NamedInstant> marks = {};  // the first of these; only in reports of one process
  std::optional<NamedMemory> named_memory = {};  // pools of the program's own, by NVTX
  std::optional<CuptiFacts> cupti;               // with the option of that name
  std::uint64_t sample_bytes = 0;  // mean distance of the calls whose stacks were taken; 0: all
                                   // were
  std::uint64_t dropped_stacks = 0;
  std::uint64_t unrecorded_calls = 0;
  std::vector<std::string> warnings;
  std::optional<SymbolFacts> symbols = {};  // added by the tool after the program has ended
  // In a report that was read: its fields and words that this version does not know, such as
  // "devices[].later" and "kinds[].kind 'later'". Not written.
  std::vector<std::string> unknown = {};
  std::vector<JointBounds> joint_bounds = {};  // not written: see add_joint_bounds()
  std::optional<Chosen> chosen = {};           // not written; nothing: this is the whole report
  std::string file = {};     // not written: the absolute path of the file that was read, if known
  bool is_own_file = false;  // not written: the report was read from a file of is_own_file()
  ShownSources sources_shown = {};  // not written
};

}  // namespace vramscope
