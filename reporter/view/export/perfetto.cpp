// Perfetto's track events: counters of bytes; of a trace also calls as slices on their threads,
// with the stack that allocated, and flows from the call that allocated to the one that freed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "perfetto.pb.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

using perfetto::TracePacket;
using perfetto::TrackEvent;
using Memory = std::pair<Kind, std::uint16_t>;

// Packets one by one: each is a part of the trace.
class Packets {
 public:
  // Texts that events name by number; the numbers are those of Perfetto's interned data.
  enum Text : std::uint8_t { call = 1, bytes = 1, failed, caller, stack, held_by };

  Packets(const Report& report, Output& output) : report_(report), output_(output) {
    perfetto::TrackDescriptor& track = next_track();
    TracePacket& packet = *trace_.mutable_packet(0);
    packet.set_trusted_packet_sequence_id(kSequence);
    packet.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    perfetto::InternedData& texts = *packet.mutable_interned_data();
    say(*texts.add_event_categories(), call, "call");
    std::uint64_t number = 0;
    for (const char* name : {"bytes", "failed", "caller", "stack", "held_by"}) {
      say(*texts.add_debug_annotation_names(), ++number, name);
    }
    track.mutable_process()->set_pid(pid());
    track.mutable_process()->set_process_name(process_name(report));
    track.mutable_process()->add_cmdline(command_of(report));
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
  void count(std::uint64_t ns, std::uint64_t track, std::uint64_t held) {
    TrackEvent& event = *add(ns, track, TrackEvent::TYPE_COUNTER).mutable_track_event();
    event.set_counter_value(static_cast<std::int64_t>(held));
    put();
  }
  // Those that the program set.
  void add_marks() {
    for (const NamedInstant& mark : report_.marks) {
      TracePacket& packet = add(mark.time_ns, kProcess, TrackEvent::TYPE_INSTANT);
      packet.mutable_track_event()->set_name(harmless(mark.name));
      put();
    }
  }
  void add_end_of_place(std::uint64_t ns, const std::vector<std::uint64_t>& flows) {
    TrackEvent& event = *add(ns, kProcess, TrackEvent::TYPE_INSTANT).mutable_track_event();
    event.set_name("end of a context");
    for (const std::uint64_t number : flows) event.add_terminating_flow_ids(number);
    put();
  }
  // put() follows.
  TracePacket& add(std::uint64_t ns, std::uint64_t track, TrackEvent::Type type) {
    TracePacket& packet = *trace_.add_packet();
    packet.set_timestamp(ns);
    packet.set_trusted_packet_sequence_id(kSequence);
    if (type == TrackEvent::TYPE_SLICE_BEGIN) {
      packet.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    }
    packet.mutable_track_event()->set_type(type);
    packet.mutable_track_event()->set_track_uuid(track);
    return packet;
  }
  static void say(perfetto::InternedName& name, std::uint64_t number, const std::string& text) {
    name.set_iid(number);
    name.set_name(text);
  }
  void put() {
    trace_.AppendToString(&output_.text());
    trace_.Clear();
    output_.flush_if_long();
  }

 private:
  static constexpr std::uint64_t kProcess = 1;
  static constexpr std::uint32_t kSequence = 1;

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
        packets.add_counter(memory_name(exported.report(), series.kind, series.device) + " (most)");
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
        holders_(exported),
        names_(exported.report(), exported.name()) {}

  std::string run() {
    TraceWalk walk(
        [&](const auto& b, const auto& e, auto now, bool came) { change(b, e, now, came); },
        [&](const auto& e) { next(e); });
    std::string problem = exported_.follow(walk);
    put_end_of_place();
    put_call();
    return problem;
  }

 private:
  void next(const TraceEvent& one) {
    put_end_of_place();
    put_call();
    if (one.what <= trace::What::went) call_ = one;
  }

  void change(const WalkedBlock& block, const FollowedEvent& by, std::uint64_t now_ns, bool came) {
    const Memory memory{block.place.kind, block.place.device};
    const auto [counter, is_new] = counters_.try_emplace(memory);
    if (is_new)
      counter->second.track = packets_.add_counter(memory_name(memory.first, memory.second));
    std::uint64_t& held = counter->second.bytes;
    held = came ? held + block.bytes : held - block.bytes;
    packets_.count(now_ns, counter->second.track, held);
    if (by.one.what == trace::What::place_ended) {
      if (by.ends_place()) with_place_.push_back(block.number);
      place_ended_ns_ = now_ns;
    } else if (by.passes) {
      (came ? begun_ : ended_).push_back(block.number);
    }
  }

  // No call took this memory: it ended with its context.
  void put_end_of_place() {
    if (with_place_.empty()) return;
    packets_.add_end_of_place(place_ended_ns_, with_place_);
    with_place_.clear();
  }

  void put_call() {
    if (!call_) return;
    const Event& event = call_->event;
    const std::uint64_t at = event.start_ns - exported_.start_clock_ns();
    const std::uint64_t track = thread_track(call_->thread);
    TracePacket& packet = packets_.add(at, track, TrackEvent::TYPE_SLICE_BEGIN);
    TrackEvent& slice = *packet.mutable_track_event();
    slice.add_category_iids(Packets::call);
    slice.set_name_iid(name_of(event.function, packet));
    annotate(slice, Packets::bytes).set_uint_value(event.bytes);
    if (event.failed) annotate(slice, Packets::failed).set_bool_value(true);
    if (is_allocating(event.effect) && event.tag != 0) {
      add_stack(event.tag, packet);
      const std::string& holder =
          holders_.of(exported_.site_of(event.tag), event.place.kind, event.place.device);
      if (!event.failed && !holder.empty())
        annotate(slice, Packets::held_by).set_string_value(holder);
    }
    for (const std::uint64_t number : begun_) slice.add_flow_ids(number);
    for (const std::uint64_t number : ended_) slice.add_terminating_flow_ids(number);
    packets_.put();
    static_cast<void>(packets_.add(at + event.total_ns, track, TrackEvent::TYPE_SLICE_END));
    packets_.put();
    call_.reset();
    begun_.clear();
    ended_.clear();
  }

  static perfetto::DebugAnnotation& annotate(TrackEvent& event, Packets::Text name) {
    perfetto::DebugAnnotation& added = *event.add_debug_annotations();
    added.set_name_iid(name);
    return added;
  }

  // The number of the function's name, which stands in the first packet that needs it.
  std::uint64_t name_of(std::uint32_t function, TracePacket& packet) {
    const auto& names = exported_.names()->functions;
    const std::size_t number = std::min<std::size_t>(function, names.size()) + 1;
    named_.resize(names.size() + 2);
    if (!named_[number]) {
      Packets::say(*packet.mutable_interned_data()->add_event_names(), number,
                   number > names.size() ? "unknown" : harmless(names[function]));
      named_[number] = true;
    }
    return number;
  }

  void add_stack(Tag tag, TracePacket& packet) {
    const std::size_t site = exported_.site_of(tag);
    told_.resize(exported_.report().sites.size());
    if (!told_[site]) {
      tell(2 * site + 1, stacks_.caller(site), packet);
      std::string whole;
      for (const std::uint32_t frame : stacks_.stack(site)) {
        whole += (whole.empty() ? "" : " < ") + text(stacks_.frame(frame));
      }
      tell(2 * site + 2, whole, packet);
      told_[site] = true;
    }
    TrackEvent& slice = *packet.mutable_track_event();
    annotate(slice, Packets::caller).set_string_value_iid(2 * site + 1);
    annotate(slice, Packets::stack).set_string_value_iid(2 * site + 2);
  }
  static void tell(std::uint64_t number, const std::string& text, TracePacket& packet) {
    perfetto::InternedString& told =
        *packet.mutable_interned_data()->add_debug_annotation_string_values();
    told.set_iid(number);
    told.set_str(text);
  }

  std::uint64_t thread_track(std::uint32_t thread) {
    const auto [known, is_new] = threads_.try_emplace(thread);
    if (!is_new) return known->second;
    const auto& facts = exported_.names()->facts.threads;
    const ThreadFact fact = thread < facts.size() ? facts[thread] : ThreadFact{};
    return known->second = packets_.add_thread(fact.id, names_.title(fact));
  }

  struct Counter {
    std::uint64_t track = 0;
    std::uint64_t bytes = 0;
  };

  const Exported& exported_;
  Packets& packets_;
  NamedStacks stacks_;
  const Holders holders_;
  ThreadNames names_;
  std::map<Memory, Counter> counters_;
  std::map<std::uint32_t, std::uint64_t> threads_;
  std::optional<TraceEvent> call_;    // to be written
  std::vector<bool> named_;           // functions, by the number of their names
  std::vector<bool> told_;            // sites whose stacks stand in a packet
  std::vector<std::uint64_t> begun_;  // flows
  std::vector<std::uint64_t> ended_;
  std::vector<std::uint64_t> with_place_;  // flows of what ended with its context
  std::uint64_t place_ended_ns_ = 0;
};

}  // namespace

std::string write_perfetto(const Exported& exported, Output& output) {
  Packets packets(exported.report(), output);
  packets.add_marks();
  if (exported.names() != nullptr) return Calls(exported, packets).run();
  add_timeline(exported, packets);
  return "";
}

}  // namespace vramscope
