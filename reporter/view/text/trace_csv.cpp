// Each event of a trace as a line of numbers and words.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "allocator/ground/place.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/trace_text.h"

namespace vramscope {
namespace {

using trace::What;

constexpr std::array<std::string_view, 6> kWhats{"call",         "allocation", "free",
                                                 "allocation +", "free +",     "place ended"};
constexpr std::array<std::string_view, 3> kServed{"driver", "hit", "miss"};

class Line {
 public:
  explicit Line(std::string& text) : text_(text) {}
  Line& add(std::string_view word) {
    if (!first_) text_ += ',';
    first_ = false;
    text_ += word;
    return *this;
  }
  // One that a file has made.
  Line& add_name(std::string_view name) {
    const std::string safe = harmless(name);
    if (safe.find_first_of(",\"") == std::string::npos) return add(safe);
    std::string quoted = "\"";
    for (const char c : safe) quoted.append(c == '"' ? 2 : 1, c);
    return add(quoted + "\"");
  }
  Line& add(std::uint64_t number) { return add(std::to_string(number)); }

 private:
  std::string& text_;
  bool first_ = true;
};

}  // namespace

std::string trace_csv_titles() {
  return "start_ns,duration_ns,driver_ns,sync_ns,thread,event,function,failed,served,kind,device,"
         "context,address,bytes,site,tag,order\n";
}

void add_trace_csv(std::string& text, const TraceEvent& one, const TraceNames& names) {
  const Event& event = one.event;
  const RecorderFacts& facts = names.facts;
  const bool is_call = one.what <= What::went;
  const bool known = one.thread < facts.threads.size() && facts.threads[one.thread].id != 0;
  const auto thread = known ? static_cast<std::uint64_t>(facts.threads[one.thread].id) : 0;
  Line line(text);
  line.add(names.process.wall_ns + (event.start_ns - names.process.clock_ns));
  line.add(event.total_ns).add(event.driver_ns).add(event.sync_ns).add(thread);
  line.add(kWhats[static_cast<std::size_t>(one.what)]);
  const bool has_name = is_call && event.function < names.functions.size();
  line.add_name(has_name ? std::string_view(names.functions[event.function]) : "");
  line.add(std::string_view(event.failed ? "yes" : "no"));
  line.add(is_call ? kServed[static_cast<std::size_t>(event.served)] : "");
  line.add(kKindNames[static_cast<std::size_t>(event.place.kind)]);
  line.add(event.place.device).add(event.place.context).add(event.address).add(event.bytes);
  line.add(event.tag < facts.tags.size() ? facts.tags[event.tag].site : 0);
  line.add(event.tag).add(event.serial);
  text += '\n';
}

}  // namespace vramscope
