// Each event of a trace as a line of numbers and words.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "allocator/base/place.h"
#include "reporter/view/text/trace_text.h"

namespace vramscope {
namespace {

using trace::What;

constexpr std::array<std::string_view, 8> kWhats{"call",   "allocation",  "free",   "allocation +",
                                                 "free +", "place ended", "thread", "live before"};
constexpr std::array<std::string_view, 3> kServed{"driver", "hit", "miss"};

}  // namespace

std::vector<std::string> trace_csv_titles() {
  return {"start_ns", "duration_ns", "driver_ns", "sync_ns", "thread", "event",
          "function", "failed",      "served",    "kind",    "device", "context",
          "address",  "bytes",       "site",      "tag",     "order"};
}

void add_trace_csv(CsvText& csv, const TraceEvent& one, const TraceNames& names) {
  const Event& event = one.event;
  const RecorderFacts& facts = names.facts;
  const bool is_call = one.what <= What::went;
  const bool known = one.thread < facts.threads.size() && facts.threads[one.thread].id != 0;
  const auto thread = known ? static_cast<std::uint64_t>(facts.threads[one.thread].id) : 0;
  csv.begin();
  csv.whole(names.process.wall_ns + (event.start_ns - names.process.clock_ns));
  csv.whole(event.total_ns).whole(event.driver_ns).whole(event.sync_ns).whole(thread);
  csv.plain(kWhats[static_cast<std::size_t>(one.what)]);
  const bool has_name = is_call && event.function < names.functions.size();
  csv.word(has_name ? std::string_view(names.functions[event.function]) : "");
  csv.plain(event.failed ? "yes" : "no");
  csv.plain(is_call ? kServed[static_cast<std::size_t>(event.served)] : "");
  csv.plain(kKindNames[static_cast<std::size_t>(event.place.kind)]);
  csv.whole(event.place.device).whole(event.place.context).whole(event.address);
  csv.whole(event.bytes);
  csv.whole(event.tag < facts.tags.size() ? facts.tags[event.tag].site : 0);
  csv.whole(event.tag).whole(event.serial).end();
}

}  // namespace vramscope
