// Perfetto's track events: counters of bytes; of a trace also calls as slices on their threads, and
// flows from the call that allocated to the one that freed.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include "perfetto.pb.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/export/trace_walk.h"
#include "reporter/view/text/format.h"

namespace vramscope {
namespace {

using perfetto::TrackEvent;
using Memory = std::pair<Kind, std::uint16_t>;

// Packets one by one: each is a part of the trace.
class Packets {
 public:
  Packets(const Report& report, Output& output) : report_(report), output_(output) {
    perfetto::TrackDescriptor& track = next_track();
    track.mutable_process()->set_pid(pid());
    track.mutable_process()->set_process_name(program_name(report));
    track.mutable_process()->add_cmdline(command_line(report));
    put();
  }

  std::uint64_t add_counter(const std::string& name) {
    perfetto::TrackDescriptor& track = next_track();
    track.set_name(name);
    track.set_parent_uuid(kProcess);
    track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
    return put_track(track);
  }
  std::uint64_t add_thread(std::int64_t id, const std::string& name) {
    perfetto::TrackDescriptor& track = next_track();
    track.set_parent_uuid(kProcess);
    track.mutable_thread()->set_pid(pid());
    track.mutable_thread()->set_tid(static_cast<std::int32_t>(id));
    track.mutable_thread()->set_thread_name(harmless(name));
    return put_track(track);
  }
  void count(std::uint64_t ns, std::uint64_t track, std::uint64_t bytes) {
    event(ns, track, TrackEvent::TYPE_COUNTER).set_counter_value(static_cast<std::int64_t>(bytes));
    put();
  }
  // put() follows.
  TrackEvent& event(std::uint64_t ns, std::uint64_t track, TrackEvent::Type type) {
    perfetto::TracePacket& packet = *trace_.add_packet();
    packet.set_timestamp(ns);
    packet.set_trusted_packet_sequence_id(1);
    packet.mutable_track_event()->set_type(type);
    packet.mutable_track_event()->set_track_uuid(track);
    return *packet.mutable_track_event();
  }
  void put() {
    trace_.AppendToString(&output_.text());
    trace_.Clear();
    output_.flush_if_long();
  }

 private:
  static constexpr std::uint64_t kProcess = 1;

  [[nodiscard]] std::int32_t pid() const { return static_cast<std::int32_t>(report_.process.pid); }
  perfetto::TrackDescriptor& next_track() {
    perfetto::TrackDescriptor& track = *trace_.add_packet()->mutable_track_descriptor();
    track.set_uuid(++tracks_);
    return track;
  }
  std::uint64_t put_track(const perfetto::TrackDescriptor& track) {
    const std::uint64_t number = track.uuid();
    put();
    return number;
  }

  const Report& report_;
  Output& output_;
  perfetto::Trace trace_;
  std::uint64_t tracks_ = 0;
};

void add_timeline(const Exported& exported, Packets& packets) {
  for (const TimelineSeries& series : exported.report().timeline.series) {
    const std::uint64_t track =
        packets.add_counter(memory_name(series.kind, series.device) + " (most)");
    for (std::size_t i = 0; i < series.highest.size(); ++i) {
      packets.count(i * series.bucket_ns, track, series.highest[i]);
    }
  }
}

// What a call did is known once the next event is there: of a call that changed more, the further
// changes come before it.
class Calls {
 public:
  Calls(const Exported& exported, Packets& packets)
      : exported_(exported),
        packets_(packets),
        stacks_(exported),
        walk_(exported, {.came = [this](const auto& b, const auto&) { change(b, true); },
                         .went = [this](const auto& b, const auto&) { change(b, false); },
                         .event = [this](const auto& e) { next(e); }}) {}

  std::string run() {
    std::string problem = walk_.run();
    put_call();
    return problem;
  }

 private:
  void next(const TraceEvent& one) {
    put_call();
    if (one.what <= trace::What::went) call_ = one;
  }

  void change(const WalkedBlock& block, bool came) {
    const Memory memory{block.place.kind, block.place.device};
    const auto [counter, is_new] = counters_.try_emplace(memory);
    if (is_new)
      counter->second.track = packets_.add_counter(memory_name(memory.first, memory.second));
    std::uint64_t& held = counter->second.bytes;
    held = came ? held + block.bytes : held - block.bytes;
    packets_.count(walk_.now_ns(), counter->second.track, held);
    (came ? begun_ : ended_).push_back(block.number);
    if (came) site_ = exported_.site_of(block.tag);
  }

  void put_call() {
    if (!call_) return;
    const Event& event = call_->event;
    const TraceProcess& process = exported_.names()->process;
    const std::uint64_t at =
        event.start_ns - process.clock_ns + process.wall_ns - exported_.report().timeline.start_ns;
    const auto& functions = exported_.names()->functions;
    const std::uint64_t track = thread_track(call_->thread);
    TrackEvent& slice = packets_.event(at, track, TrackEvent::TYPE_SLICE_BEGIN);
    slice.add_categories("call");
    slice.set_name(event.function < functions.size() ? harmless(functions[event.function])
                                                     : "unknown");
    annotate(slice, "bytes").set_uint_value(event.bytes);
    if (event.failed) annotate(slice, "failed").set_bool_value(true);
    if (site_) annotate(slice, "caller").set_string_value(stacks_.caller(*site_));
    for (const std::uint64_t number : begun_) slice.add_flow_ids(number);
    for (const std::uint64_t number : ended_) slice.add_terminating_flow_ids(number);
    packets_.put();
    static_cast<void>(packets_.event(at + event.total_ns, track, TrackEvent::TYPE_SLICE_END));
    packets_.put();
    call_.reset();
    site_.reset();
    begun_.clear();
    ended_.clear();
  }

  static perfetto::DebugAnnotation& annotate(TrackEvent& event, const char* name) {
    perfetto::DebugAnnotation& added = *event.add_debug_annotations();
    added.set_name(name);
    return added;
  }

  std::uint64_t thread_track(std::uint32_t thread) {
    const auto [known, is_new] = threads_.try_emplace(thread);
    if (!is_new) return known->second;
    const auto& facts = exported_.names()->facts.threads;
    const ThreadFact fact = thread < facts.size() ? facts[thread] : ThreadFact{};
    return known->second = packets_.add_thread(fact.id, fact.name);
  }

  struct Counter {
    std::uint64_t track = 0;
    std::uint64_t bytes = 0;
  };

  const Exported& exported_;
  Packets& packets_;
  NamedStacks stacks_;
  TraceWalk walk_;
  std::map<Memory, Counter> counters_;
  std::map<std::uint32_t, std::uint64_t> threads_;
  std::optional<TraceEvent> call_;  // to be written
  std::optional<std::size_t> site_;
  std::vector<std::uint64_t> begun_;  // flows
  std::vector<std::uint64_t> ended_;
};

}  // namespace

std::string write_perfetto(const Exported& exported, Output& output) {
  Packets packets(exported.report(), output);
  if (exported.names() != nullptr) return Calls(exported, packets).run();
  add_timeline(exported, packets);
  return "";
}

}  // namespace vramscope
