// A SQLite database: tables of what the report or the trace says, and views that answer the
// README's questions. The schema, with what columns mean, is in the file: `.schema` shows it.
// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <concepts>

#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/export/site_places.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr const char* kSchema = R"(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
BEGIN;
CREATE TABLE process (pid INTEGER, executable TEXT, command TEXT, hostname TEXT, rank INTEGER, mode TEXT,
  "trigger" TEXT, tool_version TEXT,
  start_ns INTEGER,      -- when recording began, since 1970; other times count from here
  duration_ns INTEGER);
CREATE TABLE devices (device INTEGER, gpu TEXT, name TEXT, uuid TEXT, total_bytes INTEGER,
  free_bytes INTEGER);
CREATE TABLE statistics (device INTEGER,  -- NULL: the host
  name TEXT,                              -- as PyTorch calls it: allocated_bytes.all.peak
  value INTEGER);
CREATE TABLE kinds (kind TEXT,
  device INTEGER,        -- here and below NULL of the host's memory
  current_bytes INTEGER, peak_bytes INTEGER, peak_ns INTEGER,
  peak_site INTEGER, allocations INTEGER, frees INTEGER);
CREATE TABLE ledger (device INTEGER, kind TEXT, owner TEXT, current_bytes INTEGER, peak_bytes INTEGER,
  calls INTEGER,
  device_bytes INTEGER);  -- of the device's used bytes
CREATE TABLE axes (axis TEXT, value TEXT, kind TEXT, device INTEGER, live_bytes INTEGER,
  peak_bytes INTEGER,      -- at the peak of the kind and device
  own_peak_bytes INTEGER,  -- the most that it ever held
  total_bytes INTEGER, total_count INTEGER);
CREATE TABLE functions (name TEXT, calls INTEGER, failures INTEGER, total_ns INTEGER, max_ns INTEGER);
CREATE TABLE sites (site INTEGER PRIMARY KEY,
  caller TEXT,            -- the innermost function outside CUDA's libraries
  place TEXT,             -- that and who called it, three frames or as many as tell it apart: a row of a listing
  stack TEXT,             -- all frames, innermost first, without those of CUDA's libraries
  temporary_count INTEGER, refused_count INTEGER);
CREATE TABLE shares (     -- of a site, by kind and device
  site INTEGER, kind TEXT, device INTEGER,
  live_bytes INTEGER,     -- with what is freed and waits for its stream
  live_count INTEGER,
  never_freed_bytes INTEGER,  -- without that
  never_freed_count INTEGER,
  leaked_bytes INTEGER,   -- of that, without what is kept
  leaked_count INTEGER,
  peak_bytes INTEGER,     -- live at the peak of the kind and device
  peak_count INTEGER, total_bytes INTEGER, total_count INTEGER, total_ns INTEGER);
CREATE TABLE kept_shares (  -- of a site's never freed memory: what caches of frameworks hold, and libraries keep by design
  site INTEGER, kind TEXT, device INTEGER, held_by TEXT, bytes INTEGER, count INTEGER);
CREATE TABLE frames (frame INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT,
  "offset" INTEGER, inlined INTEGER);
CREATE TABLE stacks (site INTEGER, depth INTEGER,  -- 0: innermost
  frame INTEGER, PRIMARY KEY (site, depth)) WITHOUT ROWID;
CREATE TABLE timeline (kind TEXT, device INTEGER, start_ns INTEGER, highest_bytes INTEGER, last_bytes INTEGER);
CREATE TABLE marks (at_ns INTEGER, name TEXT);  -- that the program set
CREATE TABLE segments (segment INTEGER PRIMARY KEY, kind TEXT, device INTEGER, address INTEGER,
  total_size INTEGER, allocated_size INTEGER, active_size INTEGER, requested_size INTEGER, is_small INTEGER);
CREATE TABLE blocks (segment INTEGER, address INTEGER, size INTEGER, requested_size INTEGER, state TEXT,
  site INTEGER, born_ns INTEGER);
CREATE TABLE events (     -- of a trace
  start_ns INTEGER, duration_ns INTEGER, thread INTEGER, function TEXT, event TEXT, failed INTEGER, kind TEXT,
  device INTEGER, address INTEGER, bytes INTEGER, site INTEGER);
CREATE VIEW peak AS SELECT kind, device, peak_bytes, peak_count, place, stack FROM shares JOIN sites USING (site)
  WHERE peak_bytes > 0 ORDER BY kind, device, peak_bytes DESC;
CREATE VIEW leaks AS SELECT kind, device, leaked_bytes, leaked_count, place, stack
  FROM shares JOIN sites USING (site) WHERE leaked_bytes > 0 ORDER BY leaked_bytes DESC;
CREATE VIEW kept AS SELECT held_by, kind, device, bytes, count, place, stack
  FROM kept_shares JOIN sites USING (site) ORDER BY bytes DESC;
CREATE VIEW owners AS SELECT device, owner, kind, device_bytes FROM ledger
  WHERE device_bytes > 0 ORDER BY device, device_bytes DESC;
CREATE VIEW temporary AS SELECT temporary_count, place, stack FROM sites
  WHERE temporary_count > 0 ORDER BY temporary_count DESC;
CREATE VIEW free_pieces AS SELECT segment, blocks.address, size FROM blocks
  WHERE state = 'inactive' ORDER BY size DESC;
)";

// Events tell nothing of what these are made of, so that an empty answer would be a wrong one.
constexpr const char* kNoViewsOfATrace =
    "DROP VIEW owners; DROP VIEW temporary; DROP VIEW free_pieces";

class Database {
 public:
  explicit Database(const std::string& path) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path.c_str(), &database_, kFlags, nullptr) != SQLITE_OK) fail();
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* text) {
    if (sqlite3_exec(database_, text, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  void fail() {
    if (problem_.empty()) problem_ = sqlite3_errmsg(database_);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] sqlite3* handle() { return database_; }

 private:
  sqlite3* database_ = nullptr;
  std::string problem_;  // the first
};

// Rows of one table.
class Rows {
 public:
  Rows(Database& database, const std::string& table, int columns) : database_(database) {
    std::string text = "INSERT INTO " + table + " VALUES (?";
    for (int i = 1; i < columns; ++i) text += ",?";
    text += ")";
    if (sqlite3_prepare_v2(database.handle(), text.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
      database.fail();
  }
  ~Rows() { sqlite3_finalize(statement_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  template <class... Values>
  void add(const Values&... values) {
    int column = 0;
    (bind(++column, values), ...);
    if (sqlite3_step(statement_) != SQLITE_DONE) database_.fail();
    sqlite3_reset(statement_);
  }

 private:
  void bind(int column, std::integral auto number) {
    sqlite3_bind_int64(statement_, column, static_cast<sqlite3_int64>(number));
  }
  void bind(int column, std::string_view text) {
    // Not copied: it is read in this add() alone.
    sqlite3_bind_text(statement_, column, text.data(), static_cast<int>(text.size()),
                      SQLITE_STATIC);
  }
  void bind(int column, const std::string& text) { bind(column, std::string_view(text)); }
  void bind(int column, const char* text) { bind(column, std::string_view(text)); }
  void bind(int column, std::nullptr_t) { sqlite3_bind_null(statement_, column); }
  // A number that -1 stands for none of.
  void bind(int column, std::optional<std::int64_t> number) {
    if (number && *number >= 0) return bind(column, *number);
    bind(column, nullptr);
  }

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

std::optional<std::int64_t> or_none(std::int64_t number) { return number; }
// NULL: memory of the host is of none.
std::optional<std::int64_t> device_of(Kind kind, std::uint16_t device) {
  return has_device(kind) ? std::optional<std::int64_t>(device) : std::nullopt;
}
std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

void add_process(const Report& report, Database& database) {
  const ProcessFacts& process = report.process;
  Rows(database, "process", 10)
      .add(process.pid, harmless(process.executable), command_of(report),
           harmless(process.hostname), or_none(process.rank), harmless(process.mode),
           harmless(report.trigger), harmless(report.tool_version), report.timeline.start_ns,
           report.timeline.duration_ns);
}

void add_devices(const Report& report, Database& database) {
  Rows devices(database, "devices", 6);
  Rows statistics(database, "statistics", 3);
  for (const DeviceReport& device : report.devices) {
    const DeviceFacts& facts = device.facts;
    devices.add(facts.index, harmless(gpu_name(report, facts.index)), harmless(facts.name),
                harmless(facts.uuid), facts.total_bytes, facts.free_bytes);
    for (const auto& [name, value] : memory_stats(device)) statistics.add(facts.index, name, value);
  }
  for (const auto& [name, value] : memory_stats(report.host)) statistics.add(nullptr, name, value);
}

void add_totals(const Exported& exported, Database& database) {
  const Report& report = exported.report();
  Rows kinds(database, "kinds", 8);
  for (const KindFacts& kind : report.kinds) {
    kinds.add(name_of(kind.kind), device_of(kind.kind, kind.device), kind.current_bytes,
              kind.peak_bytes, kind.peak_ns, or_none(kind.peak_site), kind.allocations, kind.frees);
  }
  Rows ledger(database, "ledger", 7);
  for (const LedgerEntry& entry : report.ledger) {
    const std::optional<Kind> kind = kind_of(entry.kind);
    ledger.add(device_of(kind.value_or(Kind::device), entry.device), harmless(entry.kind),
               harmless(entry.owner), entry.current_bytes, entry.peak_bytes, entry.calls,
               entry.device_bytes);
  }
  Rows axes(database, "axes", 9);
  for (const AxisEntry& entry : report.axes) {
    axes.add(kAxisNames[static_cast<std::size_t>(entry.axis)], harmless(entry.value),
             name_of(entry.kind), device_of(entry.kind, entry.device), entry.totals.live_bytes,
             entry.totals.peak_bytes, entry.own_peak_bytes, entry.totals.total_bytes,
             entry.totals.total_count);
  }
  Rows functions(database, "functions", 5);
  for (const FunctionFacts& function : report.functions) {
    const FunctionTotals& totals = function.totals;
    functions.add(harmless(function.name), totals.calls, totals.failures, totals.time.total_ns,
                  totals.time.max_ns);
  }
  Rows marks(database, "marks", 2);
  for (const NamedInstant& mark : report.marks) marks.add(mark.time_ns, harmless(mark.name));
  Rows timeline(database, "timeline", 5);
  for (const TimelineSeries& series : report.timeline.series) {
    for (std::size_t i = 0; i < series.highest.size() && i < series.last.size(); ++i) {
      timeline.add(name_of(series.kind), device_of(series.kind, series.device),
                   i * series.bucket_ns, series.highest[i], series.last[i]);
    }
  }
}

void add_sites(const Exported& exported, Database& database) {
  const Report& report = exported.report();
  NamedStacks stacks(exported);
  const SitePlaces places(exported);
  Rows sites(database, "sites", 6);
  Rows steps(database, "stacks", 3);
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    sites.add(i, stacks.caller(i), places.row(i), places.whole(i), report.sites[i].temporary_count,
              report.sites[i].refused_count);
    std::size_t depth = 0;
    for (const std::uint32_t frame : stacks.stack(i)) steps.add(i, depth++, frame);
  }
  Rows frames(database, "frames", 7);
  for (std::uint32_t i = 0; i < stacks.frames(); ++i) {
    const NamedFrame& frame = stacks.frame(i);
    frames.add(i, frame.function, frame.file, frame.line, frame.module, frame.offset,
               frame.is_inlined);
  }
  Rows shares(database, "shares", 14);
  Rows kept(database, "kept_shares", 6);
  for (const LeakUsage& usage : exported.usage()) {
    const SiteTotals& totals = usage.totals;
    shares.add(usage.site, name_of(usage.kind), device_of(usage.kind, usage.device),
               totals.live_bytes, totals.live_count, usage.never_freed_bytes,
               usage.never_freed_count, usage.leaked_bytes, usage.leaked_count, totals.peak_bytes,
               totals.peak_count, totals.total_bytes, totals.total_count, totals.total_ns);
    for (const KeptUsage& one : usage.kept)
      kept.add(usage.site, name_of(usage.kind), device_of(usage.kind, usage.device), one.holder,
               one.bytes, one.count);
  }
}

class Segments {
 public:
  explicit Segments(Database& database)
      : segments_(database, "segments", 9), blocks_(database, "blocks", 7) {}
  void add(const std::vector<SegmentFacts>& segments) {
    for (const SegmentFacts& segment : segments) {
      if (!holds_memory(segment.kind)) continue;  // views what others hold
      segments_.add(number_, name_of(segment.kind), device_of(segment.kind, segment.device),
                    segment.address, segment.total_size, segment.allocated_size,
                    segment.active_size, segment.requested_size, segment.is_small);
      for (const BlockFacts& block : segment.blocks) {
        blocks_.add(number_, block.address, block.size, block.requested_size,
                    kBlockStateNames[static_cast<std::size_t>(block.state)], or_none(block.site),
                    or_none(block.born_ns));
      }
      ++number_;
    }
  }

 private:
  Rows segments_;
  Rows blocks_;
  std::int64_t number_ = 0;
};

std::string_view word_of(trace::What what) {
  constexpr std::string_view kWords[] = {"call",   "allocation",  "free",  "allocation +",
                                         "free +", "place ended", "thread"};
  return kWords[static_cast<std::size_t>(what)];
}

// A row for each event that passes.
class EventRows : public TraceObserver {
 public:
  EventRows(const Exported& exported, Database& database)
      : exported_(exported), rows_(database, "events", 11) {
    for (const std::string& name : exported.names()->functions)
      functions_.push_back(harmless(name));
  }
  void event(const FollowedEvent& now) override {
    if (!now.passes && !now.ends_place()) return;
    const TraceEvent& one = now.one;
    const Event& event = one.event;
    const auto& threads = exported_.names()->facts.threads;
    const bool is_call = one.what <= trace::What::went;
    const bool is_named = is_call && event.function < functions_.size();
    rows_.add(event.start_ns - exported_.start_clock_ns(), event.total_ns,
              one.thread < threads.size() ? threads[one.thread].id : 0,
              is_named ? std::string_view(functions_[event.function]) : "", word_of(one.what),
              event.failed, name_of(event.place.kind),
              device_of(event.place.kind, event.place.device), event.address, event.bytes,
              exported_.site_of(event.tag));
  }

 private:
  const Exported& exported_;
  std::vector<std::string> functions_;
  Rows rows_;
};

}  // namespace

std::string write_sqlite(const Exported& exported, Output& output) {
  const std::string file = output.made_file();
  if (file.empty()) return "a database is written to a file of its own: -o FILE";
  const Report& report = exported.report();
  std::string problem;
  Database database(file);
  if (database.problem().empty()) {
    database.run(kSchema);
    add_process(report, database);
    add_devices(report, database);
    add_totals(exported, database);
    add_sites(exported, database);
    Segments segments(database);
    for (const DeviceReport& device : report.devices) segments.add(device.segments);
    segments.add(report.host.segments);
    segments.add(report.host.registrations);
    if (exported.names() != nullptr) {
      EventRows events(exported, database);
      problem = exported.follow(events);
      database.run(kNoViewsOfATrace);
    }
  }
  database.run("COMMIT");
  if (database.problem().empty()) return problem;
  return "cannot write the database: " + database.problem();
}

}  // namespace vramscope
