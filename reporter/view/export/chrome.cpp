// Chrome's trace JSON: counters of bytes; of a trace also calls as slices and lives as asynchronous
// events, each with a flow from its allocation to its free, and with the stack that allocated.
// Times are microseconds.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <map>

#include "reporter/report/json_writer.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"

namespace vramscope {
namespace {

// Events are written by the hundred million characters: numbers go into the text at once, and what
// is said again and again is JSON already.
void add_number(std::string& text, std::integral auto number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
}

void add_microseconds(std::string& text, std::uint64_t ns) {
  add_number(text, ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100),
                          static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  text.append(digits, sizeof digits);
}

// One line an event, as the format has them.
class Events {
 public:
  Events(const Report& report, Output& output)
      : output_(output), pid_(std::to_string(report.process.pid)) {
    output_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"vramscope@"
            << VRAMSCOPE_VERSION << "\",\"command\":" << json_string(command_of(report))
            << "},\n\"traceEvents\":[";
    name("process_name", 0, process_name(report));
  }

  // As JSON; 0: of no thread.
  [[nodiscard]] std::string thread(std::int64_t id) const {
    return "\"pid\":" + pid_ + ",\"tid\":" + std::to_string(id) + ",\"ts\":";
  }
  // The event's text, to which further members and end() are added; `thread` and `name` are JSON.
  std::string& begin(char phase, std::string_view thread, std::uint64_t ns, std::string_view name) {
    std::string& text = output_.text();
    text += is_first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    is_first_ = false;
    ((text += phase) += "\",") += thread;
    add_microseconds(text, ns);
    return ((text += ",\"name\":") += name) += ',';
  }
  void end() {
    output_.text() += '}';
    output_.flush_if_long();
  }

  void name(std::string_view what, std::int64_t of, const std::string& name) {
    begin('M', thread(of), 0, json_string(what)) += "\"args\":{\"name\":" + json_string(name) + "}";
    end();
  }
  void counter(std::string_view thread, std::uint64_t ns, std::string_view name,
               std::uint64_t bytes) {
    std::string& text = begin('C', thread, ns, name) += "\"args\":{\"bytes\":";
    add_number(text, bytes);
    text += '}';
    end();
  }

 private:
  Output& output_;
  std::string pid_;
  bool is_first_ = true;
};

// Those that the program set.
void add_marks(const Report& report, Events& events) {
  const std::string thread = events.thread(0);
  for (const NamedInstant& mark : report.marks) {
    events.begin('i', thread, mark.time_ns, json_string(mark.name)) +=
        "\"cat\":\"mark\",\"s\":\"p\"";
    events.end();
  }
}

// Of a report: the most in each part of its timeline.
void add_timeline(const Exported& exported, Events& events) {
  const std::string thread = events.thread(0);
  for (const TimelineSeries& series : exported.report().timeline.series) {
    const std::string name =
        json_string(memory_name(exported.report(), series.kind, series.device) + " (most)");
    for (std::size_t i = 0; i < series.highest.size(); ++i) {
      events.counter(thread, i * series.bucket_ns, name, series.highest[i]);
    }
  }
}

// Stacks as the format has them: frames that name their caller's. Their numbers begin with 1.
class StackFrames {
 public:
  explicit StackFrames(const Exported& exported) : stacks_(exported) {}

  [[nodiscard]] NamedStacks& stacks() { return stacks_; }
  // The innermost one of the site.
  std::size_t innermost(std::size_t site) {
    const NamedStacks::Stack& stack = stacks_.stack(site);
    std::size_t caller = 0;
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      const auto [known, is_new] = numbers_.try_emplace({caller, *frame}, frames_.size() + 1);
      if (is_new) frames_.push_back({caller, *frame});
      caller = known->second;
    }
    return caller;
  }
  void write(Output& output) const {
    output << ",\n\"stackFrames\":{";
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const NamedFrame& frame = stacks_.frame(frames_[i].second);
      output << (i == 0 ? "\n\"" : ",\n\"") << std::to_string(i + 1)
             << "\":{\"name\":" << json_string(text(frame))
             << ",\"category\":" << json_string(frame.module.empty() ? frame.file : frame.module);
      if (frames_[i].first != 0)
        output << ",\"parent\":\"" << std::to_string(frames_[i].first) << "\"";
      output << "}";
    }
    output << "}";
  }

 private:
  using Frame = std::pair<std::size_t, std::uint32_t>;  // its caller's number, and its name's
  NamedStacks stacks_;
  std::map<Frame, std::size_t> numbers_;
  std::vector<Frame> frames_;
};

class Walk {
 public:
  Walk(const Exported& exported, Events& events, StackFrames& frames)
      : exported_(exported),
        events_(events),
        frames_(frames),
        holders_(exported),
        nobody_(events.thread(0)),
        sites_(exported.report().sites.size()) {
    const ThreadNames names(exported.report(), exported.name());
    for (const ThreadFact& thread : exported.names()->facts.threads) {
      threads_.push_back(events.thread(thread.id));
      if (thread.id != 0) events.name("thread_name", thread.id, names.title(thread));
    }
    for (const std::string& name : exported.names()->functions) {
      functions_.push_back(json_string(name));
    }
  }

  std::string run() {
    TraceWalk walk(
        [&](const auto& b, const auto& e, auto now, bool came) { change(b, e.one, now, came); },
        [&](const auto& e) { call(e); });
    return exported_.follow(walk);
  }

 private:
  struct Memory {
    std::string name;      // JSON
    std::string category;  // of its blocks' events, up to their number
    std::uint64_t held = 0;
  };
  struct Site {
    std::string caller;  // JSON; "": not asked for
    std::string stack;   // the member that names its frames
  };

  [[nodiscard]] const std::string& thread_of(const TraceEvent& one) const {
    return one.thread < threads_.size() ? threads_[one.thread] : nobody_;
  }
  [[nodiscard]] std::string_view function_of(const Event& event) const {
    if (event.function < functions_.size()) return functions_[event.function];
    return "\"unknown\"";
  }
  Memory& memory_of(Place place) {
    const auto [known, is_new] = memories_.try_emplace({place.kind, place.device});
    if (is_new) {
      known->second.name = json_string(memory_name(place.kind, place.device));
      known->second.category = "\"cat\":" + known->second.name + ",\"id\":";
    }
    return known->second;
  }
  const Site& site_of(Tag tag) {
    const std::size_t number = exported_.site_of(tag);
    Site& site = sites_[number];
    if (site.caller.empty()) {
      site.caller = json_string(frames_.stacks().caller(number));
      site.stack = ",\"sf\":" + std::to_string(frames_.innermost(number));
    }
    return site;
  }

  void call(const TraceEvent& one) {
    if (one.what > trace::What::went) return;
    const Event& event = one.event;
    const std::uint64_t at = event.start_ns - exported_.start_clock_ns();
    std::string& text = events_.begin('X', thread_of(one), at, function_of(event));
    text += "\"cat\":\"call\",\"dur\":";
    add_microseconds(text, event.total_ns);
    if (is_allocating(event.effect) && event.tag != 0) text += site_of(event.tag).stack;
    text += ",\"args\":{\"bytes\":";
    add_number(text, event.bytes);
    text += event.failed ? ",\"failed\":true}" : ",\"failed\":false}";
    events_.end();
  }

  // An asynchronous event: lives overlap as they like.
  void change(const WalkedBlock& block, const TraceEvent& one, std::uint64_t now, bool came) {
    Memory& memory = memory_of(block.place);
    memory.held = came ? memory.held + block.bytes : memory.held - block.bytes;
    events_.counter(nobody_, now, memory.name, memory.held);
    const std::string& thread = thread_of(one);
    const Site& site = site_of(block.tag);
    std::string& text = events_.begin(came ? 'b' : 'e', thread, now, site.caller);
    add_number(text += memory.category, block.number);
    if (came) text += site.stack;
    add_number(text += ",\"args\":{\"bytes\":", block.bytes);
    const std::string& holder =
        holders_.of(exported_.site_of(block.tag), block.place.kind, block.place.device);
    if (came && !holder.empty()) text += ",\"held_by\":" + json_string(holder);
    text += '}';
    events_.end();
    add_number(
        events_.begin(came ? 's' : 'f', thread, now, "\"life\"") += "\"cat\":\"flow\",\"id\":",
        block.number);
    if (!came) text += ",\"bp\":\"e\"";
    events_.end();
  }

  const Exported& exported_;
  Events& events_;
  StackFrames& frames_;
  const Holders holders_;
  const std::string nobody_;          // JSON: of no thread
  std::vector<std::string> threads_;  // JSON, by number
  std::vector<std::string> functions_;
  std::vector<Site> sites_;
  std::map<std::pair<Kind, std::uint16_t>, Memory> memories_;
};

}  // namespace

std::string write_chrome(const Exported& exported, Output& output) {
  Events events(exported.report(), output);
  std::string problem;
  add_marks(exported.report(), events);
  if (exported.names() == nullptr) {
    add_timeline(exported, events);
    output << "]";
  } else {
    StackFrames frames(exported);
    problem = Walk(exported, events, frames).run();
    output << "]";
    frames.write(output);
  }
  output << "}\n";
  return problem;
}

}  // namespace vramscope
