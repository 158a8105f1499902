// The events of a trace that pass a filter.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

constexpr std::string_view kWords[] = {"call",   "allocation",  "free",   "allocation +",
                                       "free +", "place ended", "thread", "live before"};

struct EventRow {
  const Exported& exported;
  const TraceEvent& one;
  std::string_view function;
  std::int64_t thread = 0;
  [[nodiscard]] const Event& event() const { return one.event; }
};

Columns<EventRow> event_columns() {
  Columns<EventRow> columns = {
      {"start_ns", "when the call began, after `start_ns` of the process",
       [](const EventRow& row) {
         return static_cast<std::int64_t>(row.event().start_ns - row.exported.start_clock_ns());
       }},
      {"duration_ns", "time in the call", [](const EventRow& row) { return row.event().total_ns; }},
      {"thread", "number of the thread", &EventRow::thread},
      {"function", "function of the driver; empty: none", &EventRow::function},
      {"event", "effect on memory; `+`: one more of the same call",
       [](const EventRow& row) { return row.one.what; }, OneOf(kWords)},
      {"failed", "the call failed", [](const EventRow& row) { return row.event().failed; }}};
  append(columns,
         place_columns<EventRow>([](const EventRow& row) { return row.event().place.kind; },
                                 [](const EventRow& row) { return row.event().place.device; }));
  append(columns,
         {{"address", "of the memory", [](const EventRow& row) { return row.event().address; }},
          {"bytes", "requested", [](const EventRow& row) { return row.event().bytes; },
           InUnit("bytes")},
          {"site", "call site in its report; null: unknown",
           [](const EventRow& row) { return row.exported.known_site_of(row.event().tag); }}});
  return columns;
}

template <class Add>
class EventRows : public TraceObserver {
 public:
  EventRows(const Exported& exported, const Add& add) : exported_(exported), add_(add) {
    for (const std::string& name : exported.names()->functions)
      functions_.push_back(harmless(name));
  }
  void event(const FollowedEvent& now) override {
    if (!now.passes && !now.ends_place()) return;
    const TraceEvent& one = now.one;
    const auto& threads = exported_.names()->facts.threads;
    const bool is_call = one.what <= trace::What::went;
    const bool is_named = is_call && one.event.function < functions_.size();
    add_(EventRow{
        exported_, one, is_named ? std::string_view(functions_[one.event.function]) : "",
        one.thread < threads.size() ? static_cast<std::int64_t>(threads[one.thread].id) : 0});
  }

 private:
  const Exported& exported_;
  const Add& add_;
  std::vector<std::string> functions_;
};

}  // namespace

void add_event_table(std::vector<ExportTable>& tables) {
  tables.push_back(table_of_rows<EventRow>({"events", "an event of a trace", {}}, event_columns(),
                                           [](TableSource& source, const auto& add) {
                                             const Exported& exported = source.exported();
                                             if (exported.names() == nullptr) return;
                                             EventRows rows(exported, add);
                                             if (std::string problem = exported.follow(rows);
                                                 !problem.empty()) {
                                               source.fail(std::move(problem));
                                             }
                                           }));
}

}  // namespace vramscope
