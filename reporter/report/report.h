// Report is one report as a value: what FORMAT.md describes, without its text form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/ground/snapshot.h"
#include "reporter/ground/facts.h"
#include "reporter/report/cupti_facts.h"
#include "reporter/report/facts.h"
#include "reporter/report/oom_events.h"
#include "reporter/report/symbol_facts.h"

namespace vramscope {

inline constexpr int kReportVersion = 1;

struct BlockFacts {
  Address address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested_size = 0;
  BlockState state = BlockState::inactive;
  std::int64_t site = -1;     // index into Report::sites; -1: unknown, or free
  std::int64_t born_ns = -1;  // after the timeline's start; -1: unknown, or free
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
  std::vector<BlockFacts> blocks;  // tile the segment, in order
};

struct DeviceReport {
  DeviceFacts facts;
  std::string label = {};  // not written: see label_gpus(); "": "GPU " and the index
  DeviceStatistics statistics;
  bool used = false;  // false: memory_stats is written empty, as PyTorch does before first use
  Timing timing;
  std::vector<SegmentFacts> segments;  // all kinds but pinned and registered, by kind
};

struct HostReport {
  HostStatistics statistics;
  bool used = false;
  Timing timing;
  std::vector<SegmentFacts> segments;       // pinned
  std::vector<SegmentFacts> registrations;  // registered
};

// Bytes by kind and owner.
struct LedgerEntry {
  std::uint16_t device = 0;
  std::string kind;   // a kind of memory, or a word of ledger_row.h
  std::string owner;  // whose code asked, or what the driver keeps it for
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
  std::uint64_t peak_ns = 0;    // when, after the timeline's start
  std::int64_t peak_site = -1;  // whose allocation made it; -1: unknown
  std::string peak_thread = {};
  std::string peak_range = {};
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

// What was live when all kinds of memory of a device together were the most; of a device that had
// several.
struct JointPeak {
  KindFacts facts;                    // of all of them, as of Kind::device; without calls
  std::vector<OomShare> shares = {};  // by site and kind, the largest first
  // Not written. Whose code had asked for these bytes, by whole stacks, the largest first; noted
  // when a view shortens stacks.
  std::vector<std::pair<std::string, std::uint64_t>> owners = {};
};

// The most that one process held of a device at one time, all kinds of memory together, is not
// below `lower` and not above `upper`. Requested bytes.
struct JointBounds {
  std::uint16_t device = 0;
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// That the program marked.
struct NamedInstant {
  std::uint64_t time_ns = 0;  // after the timeline's start; 0 before it
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
  std::uint64_t start_ns = 0;  // since the epoch: when recording began, time 0
  std::uint64_t duration_ns = 0;
  // The length of the intervals of Site::live_past: in time, as reports of earlier versions have
  // it, or in allocations. The other is 0; both are where there is none.
  std::uint64_t past_interval_ns = 0;
  std::uint64_t past_interval = 0;
  std::uint64_t allocations = 0;  // of the run; 0: a report of an earlier version
  std::vector<TimelineSeries> series;
};

struct FunctionFacts {
  std::string name;
  FunctionTotals totals;
};

// A distinct call stack and what it allocated; bytes are requested bytes. peak_*: live at the
// instant of the peak of its device and kind. `parts` are the same numbers by kind and device.
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
// estimate: what the totals would be if all calls had a stack and not only samples.
struct SitePart {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  SiteTotals totals;
  std::optional<SiteTotals> estimate = {};
};
// A call stack as it was recorded, and what it allocated; frames as Site's.
struct RecordedStack {
  std::vector<std::uint32_t> frames;
  std::vector<SitePart> parts;
};
struct Site {
  std::vector<std::uint32_t> frames;  // indices into Report::frames, innermost first
  SiteTotals totals;
  std::optional<SiteTotals> estimate = {};
  bool is_left_out = false;  // of the calls that were not chosen as samples: no stack is known
  std::vector<SitePart> parts;
  std::uint64_t refused_count = 0;              // allocations that failed because memory ran out
  std::uint64_t refused_bytes = 0;              // that they asked for
  std::uint64_t temporary_count = 0;            // freed before the thread's next
  std::vector<std::uint64_t> lifetimes = {};    // of what was freed, in decades from under 1 us on
  std::vector<std::uint64_t> sizes = {};        // by std::bit_width(bytes)
  std::vector<std::uint64_t> live_by_age = {};  // bytes, by the tenth of the run's allocations
  std::vector<std::uint64_t> live_past = {};    // bytes, at the end of each interval of the run
  // Of what is live: how often some of it came after others had come and gone; 0: not known.
  std::uint64_t live_turns = 0;
  std::uint64_t live_first =
      0;  // the number of its first allocation among all of the run; 0: not known
  std::uint64_t live_last = 0;     // the same of the last
  std::uint64_t live_span_ns = 0;  // the time between these two
  std::string live_range = {};     // the innermost named range in which all of it came; "": none
  std::uint64_t live_passes = 0;   // how often the program entered that; 0: not known
  std::string live_mark = {};      // the mark that repeats and between which it came; "": none
  std::uint64_t live_marks = 0;    // how often the program set that; 0: not known
  // Not written. Of a report that a view changed: the numbers in the file of the sites that this
  // one stands for; empty: its index.
  std::vector<std::uint32_t> numbers = {};
  // Not written. Of a report whose stacks a view has shortened, so that some became one: what they
  // were. Whose memory it is, and who keeps it, is asked of these. Empty: `frames` is whole.
  std::vector<RecordedStack> whole = {};
  // Not written. A view left some of its kinds of memory out: what stands between `parts` and
  // `numbers` is not known of the rest, and empty.
  bool is_part = false;
};

// What one value of an axis holds of one kind on one device. totals.peak_bytes: at the peak of
// that kind and device; own_peak_bytes: the most that this value ever held of it.
struct AxisEntry {
  Axis axis = Axis::owner;
  std::string value;
  std::uint16_t device = 0;
  Kind kind = Kind::device;
  std::uint64_t own_peak_bytes = 0;
  SiteTotals totals;
};

// Where a thread began, as far as the stack of its first allocation that has one tells.
struct ThreadStart {
  std::string thread;                 // as a value of Axis::thread
  std::vector<std::uint32_t> frames;  // indices into Report::frames: the outermost, innermost first
};
// Beyond these no thread of a program has frames before its own function.
inline constexpr std::size_t kFramesOfStart = 32;

// A device as one process had it.
struct ProcessDevice {
  std::uint16_t index = 0;    // as all of the report that this stands in has it
  std::int32_t ordinal = -1;  // the process's own number of it; -1: `index`
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::uint64_t total_bytes = 0;
  std::int64_t reserved_peak_bytes = 0;
  std::int64_t needed_most_bytes = -1;  // of these (reserved_memory.h); -1: not known
  std::int64_t others_bytes = -1;       // used by others when it was last asked; -1: not known
};

// What a process had not freed of one call stack, of one kind of memory on one device.
struct LiveShare {
  // Index into the sites of the report that this stands in; -1: all that has no row of its own.
  std::int64_t site = -1;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t live_bytes = 0;  // requested bytes, without what waited for its free to complete
  std::uint64_t live_count = 0;
};

// What the report of one process says that cannot be added to others'. KindFacts::peak_site and the
// sites of oom are indices into the sites of the report that this stands in.
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
  std::vector<LiveShare> live = {};  // kMostLive, the largest first, and the rest; once merged
  std::int64_t total_bytes = -1;     // ever allocated of all kinds, requested bytes; -1: not known
  std::string report = {};  // the file that says all of it, by an absolute path; "": not known
};

// That a view left parts of a report out. Not written.
struct Chosen {
  // Call stacks or values of an axis were chosen, not only kinds and devices. Then Report::kinds
  // are sums of what is left of these: bytes at the instant at which all of the kind was at its
  // peak, bytes now, allocations, frees.
  bool by_rows = false;
  std::optional<Axis> axis = {};         // its values were chosen, not call stacks
  std::optional<Kind> kind = {};         // this alone is left
  std::vector<KindFacts> kinds = {};     // that are left, with all their rows
  std::vector<LedgerEntry> ledger = {};  // all of it: what is used of a device is nobody's choice
  // Of a trace: events up to then count, after its first one; nothing: all.
  std::optional<std::uint64_t> until_ns = {};
};

// One report. Reading a written report gives an equal value.
struct Report {
  std::string tool_version;
  std::string tool_commit;  // of the library that recorded; "": not known, or written by the tool
  std::string trigger;      // why it was written: see FORMAT.md; of a newer report any word
  std::uint64_t sequence = 1;
  ProcessFacts process;
  std::vector<DeviceReport> devices;
  HostReport host;
  std::vector<LedgerEntry> ledger;
  std::vector<KindFacts> kinds;
  std::vector<JointPeak> joint_peaks = {};  // by device; of one process
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
  std::vector<MergedProcess> processes = {};  // whose reports were merged into this; else empty
  std::uint64_t range_marks = 0;
  std::vector<NamedInstant> marks = {};  // the first of those; of one process
  std::optional<CuptiFacts> cupti;       // with the option of that name
  std::uint64_t sample_bytes = 0;        // mean distance of the calls whose stack was taken; 0: all
  std::uint64_t dropped_stacks = 0;
  std::uint64_t unrecorded_calls = 0;
  std::vector<std::string> warnings;
  std::optional<SymbolFacts> symbols = {};  // what the tool adds when the program has ended
  // Of a report that was read: fields and words of it that this version does not know, as
  // "devices[].later" and "kinds[].kind 'later'". Not written.
  std::vector<std::string> unknown = {};
  std::vector<JointBounds> joint_bounds = {};  // not written: see add_joint_bounds()
  std::optional<Chosen> chosen = {};           // not written; nothing: this is all of the report
  std::string file = {};            // not written: the absolute path it was read from, if known
  bool is_own_file = false;         // not written: it was read from a file of is_own_file()
  ShownSources sources_shown = {};  // not written
};

}  // namespace vramscope
