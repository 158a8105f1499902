// PyTorch's memory snapshot, as torch.cuda.memory._dump_snapshot() writes it: segments, blocks and,
// where it was recorded, the history of each device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "reporter/view/import/imports.h"
#include "reporter/view/import/pickle.h"
#include "reporter/view/import/torch_history.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

using Value = Pickle::Value;
constexpr std::uint64_t kMostOfBlock = std::uint64_t{1} << 50;  // of a block: a PiB

// Functions of PyTorch that stand innermost in each stack with frames of C++: what records it, and
// the allocator itself.
bool is_of_recording(std::string_view function) {
  for (const std::string_view name :
       {"torch::unwind::", "torch::CapturedTraceback::", "::gather_with_cpp", "::gather()",
        "c10::cuda::CUDACachingAllocator::", "c10::CachingHostAllocator"}) {
    if (function.find(name) != function.npos) return true;
  }
  return false;
}

class TorchSnapshot {
 public:
  TorchSnapshot(std::string_view bytes, ImportedRun& run)
      : pickle_(bytes),
        budget_(bytes.size()),
        run_(run),
        names_(run.names, "PyTorch"),
        history_(run) {}

  std::string read() {
    if (!pickle_.problem().empty()) return pickle_.problem();
    // What torch.cuda.memory_snapshot() gives is the list of segments alone.
    const bool is_list = pickle_.root().type == Pickle::Type::list;
    const Value segments = is_list ? pickle_.root() : of_root("segments");
    if (segments.type != Pickle::Type::list) {
      return "expected a dictionary with a list 'segments', or that list";
    }
    run_.has_segments = true;
    run_.source = "a memory snapshot of PyTorch";
    run_.alloc_conf =
        pickle_.text(pickle_.at(of_root("allocator_settings"), "PYTORCH_CUDA_ALLOC_CONF"));
    gather(of_root("device_traces"), Kind::device);
    gather(of_root("host_traces"), Kind::pinned);
    order_entries();
    note_annotations();
    note_end(segments, Kind::device);
    note_end(of_root("host_segments"), Kind::pinned);
    for (const Entry& entry : entries_) add(entry);
    if (run_.has_history) history_.finish(entries_.back().time_ns);
    run_.earlier_allocations = history_.earlier_count();
    add_segments(segments, Kind::device);
    add_segments(of_root("host_segments"), Kind::pinned);
    history_.put_events();
    say_what_is_not_known();
    return problem_;
  }

 private:
  struct Entry {
    std::uint64_t time_ns = 0;
    Place place;
    Value value;
  };

  void fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  // What is read costs as many bytes of the file: one that names the same again and again is none
  // of PyTorch's.
  bool spend() {
    if (budget_ == 0) fail("expected each event and block once");
    return budget_ != 0 && budget_-- != 0;
  }

  // Nothing, where the root is a list.
  [[nodiscard]] Value of_root(std::string_view key) const {
    return pickle_.at(pickle_.root(), key);
  }
  [[nodiscard]] std::uint64_t number(Value of, std::string_view key) const {
    return pickle_.number(pickle_.at(of, key));
  }
  // Later times than 64 bits of nanoseconds hold are the last that they do.
  [[nodiscard]] std::uint64_t time_ns(Value of) const {
    return std::min(number(of, "time_us"), std::numeric_limits<std::uint64_t>::max() / 1000) * 1000;
  }
  // Of memory that there is: what was refused may be of any size.
  std::uint64_t bytes_of(Value of, std::string_view key) {
    const std::uint64_t bytes = number(of, key);
    if (bytes > kMostOfBlock) fail("expected sizes below 1 PiB");
    return std::min(bytes, kMostOfBlock);
  }
  std::uint16_t device_of(std::uint64_t number) {
    if (number >= kMaxDevices) fail("expected devices below " + std::to_string(kMaxDevices));
    return static_cast<std::uint16_t>(std::min<std::uint64_t>(number, kMaxDevices - 1));
  }

  // Pinned memory is of no device.
  void gather(Value traces, Kind kind) {
    const auto& devices = pickle_.items(traces);
    for (std::size_t device = 0; device < devices.size(); ++device) {
      const Place place{.kind = kind,
                        .device = has_device(kind) ? device_of(device) : std::uint16_t{0}};
      for (const Value& value : pickle_.items(devices[device])) {
        if (!spend()) return;
        entries_.push_back({time_ns(value), place, value});
      }
    }
  }

  void order_entries() {
    run_.has_history = !entries_.empty();
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.time_ns < b.time_ns; });
    for (const Entry& entry : entries_) {
      history_.note_action(entry.place.kind, pickle_.text(pickle_.at(entry.value, "action")));
    }
  }

  void note_annotations() {
    for (const Value& value : pickle_.items(of_root("external_annotations"))) {
      if (!spend()) return;
      const Place place{.kind = Kind::device, .device = device_of(number(value, "device"))};
      marks_.push_back({time_ns(value), place, value});
    }
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Entry& a, const Entry& b) { return a.time_ns < b.time_ns; });
  }

  // The innermost annotation of the device at that time, 0: none.
  std::uint32_t range_at(const Entry& entry) {
    for (; mark_ < marks_.size() && marks_[mark_].time_ns <= entry.time_ns; ++mark_) {
      const Entry& mark = marks_[mark_];
      std::vector<std::uint32_t>& open = open_[mark.place.device];
      const std::string_view name = pickle_.text(pickle_.at(mark.value, "name"));
      if (pickle_.text(pickle_.at(mark.value, "stage")) == "START") {
        constexpr std::size_t kDeepest = 64;
        if (open.size() < kDeepest)
          open.push_back(names_.range(open.empty() ? 0 : open.back(), name));
        continue;
      }
      const auto is_it = [&](std::uint32_t range) { return run_.names.ranges[range].name == name; };
      const auto last = std::find_if(open.rbegin(), open.rend(), is_it);
      if (last != open.rend()) open.erase(std::next(last).base(), open.end());
    }
    const std::vector<std::uint32_t>& open = open_[entry.place.device];
    return open.empty() ? 0 : open.back();
  }

  std::uint32_t site_of(Value of) {
    const Value frames = pickle_.at(of, "frames");
    if (frames.type != Pickle::Type::list) return kUnknownSite;
    const auto [found, is_new] = sites_.try_emplace(frames.content, kUnknownSite);
    if (!is_new) return found->second;
    std::vector<std::uint32_t> numbers;
    for (const Value& frame : pickle_.items(frames)) {
      constexpr std::size_t kDeepest = 1024;
      if (numbers.size() == kDeepest || !spend()) break;
      const std::string_view name = pickle_.text(pickle_.at(frame, "name"));
      if (numbers.empty() && is_of_recording(name)) continue;
      const std::string_view file = pickle_.text(pickle_.at(frame, "filename"));
      numbers.push_back(names_.frame(name, file == "??" ? "" : file, number(frame, "line")));
    }
    return found->second = names_.site(numbers);
  }

  Tag tag_of(std::uint32_t site, Place place, std::uint64_t bytes, std::uint64_t stream,
             std::uint32_t range) {
    return names_.tag({.site = site,
                       .place = place,
                       .stream = names_.stream(stream),
                       .range = range,
                       .bytes = bytes});
  }

  void add(const Entry& entry) {
    const std::string_view action = pickle_.text(pickle_.at(entry.value, "action"));
    TorchHistory::Action it{.time_ns = entry.time_ns,
                            .place = entry.place,
                            .address = number(entry.value, "addr"),
                            .bytes = number(entry.value, "size")};
    const auto tag = [&] {
      return tag_of(site_of(entry.value), it.place, it.bytes, number(entry.value, "stream"),
                    range_at(entry));
    };
    if (action == "oom") return history_.refused(it, tag(), number(entry.value, "device_free"));
    const bool has_size = pickle_.at(entry.value, "size").type != Pickle::Type::none;
    if (!has_size && action == "alloc") return fail("expected a size of each allocation");
    it.bytes = bytes_of(entry.value, "size");
    if (action == "alloc") return history_.allocated(it, tag());
    const auto unknown = [&] { return tag_of(kUnknownSite, it.place, it.bytes, 0, 0); };
    if (action == "free_requested") return history_.free_requested(it, unknown);
    if (action == "free_completed") return history_.free_completed(it, unknown);
    if (!has_device(it.place.kind)) return;  // of pinned memory each block is one
    if (action == "segment_alloc" || action == "segment_map") return history_.segment_came(it);
    if (action == "segment_free" || action == "segment_unmap") return history_.segment_went(it);
    // "snapshot", and what later versions may have
  }

  // Versions until 2.0 have a list of what was in the block, the last first.
  [[nodiscard]] Value history_of(Value block) const {
    const auto& list = pickle_.items(pickle_.at(block, "history"));
    return list.empty() ? block : list.front();
  }
  [[nodiscard]] bool is_active(Value block) const {
    return pickle_.text(pickle_.at(block, "state")) != "inactive";
  }
  std::uint64_t requested_of(Value block) {
    if (pickle_.at(block, "requested_size").type != Pickle::Type::none) {
      return bytes_of(block, "requested_size");
    }
    const Value history = history_of(block);
    const bool is_told = pickle_.at(history, "real_size").type != Pickle::Type::none;
    if (is_told) return bytes_of(history, "real_size");
    return is_active(block) ? bytes_of(block, "size") : 0;
  }

  // What the history ends with.
  void note_end(Value list, Kind kind) {
    for (const Value& segment : pickle_.items(list)) {
      if (!spend()) return;
      const Place place{
          .kind = kind,
          .device = has_device(kind) ? device_of(number(segment, "device")) : std::uint16_t{0}};
      Address at = number(segment, "address");
      history_.note_segment(place, at, bytes_of(segment, "total_size"));
      for (const Value& block : pickle_.items(pickle_.at(segment, "blocks"))) {
        if (!spend()) return;
        const std::uint64_t bytes = bytes_of(block, "size");
        if (is_active(block)) history_.note_block(at, bytes, requested_of(block));
        at += bytes;
      }
    }
  }

  void add_segments(Value list, Kind kind) {
    std::vector<Value> segments;
    for (const Value& segment : pickle_.items(list)) {
      if (!spend()) return;
      segments.push_back(segment);
    }
    std::stable_sort(segments.begin(), segments.end(), [this](const Value& a, const Value& b) {
      return std::pair(number(a, "device"), number(a, "address")) <
             std::pair(number(b, "device"), number(b, "address"));
    });
    Address end = 0;
    for (const Value& segment : segments) {
      if (!problem_.empty()) return;
      const std::uint16_t device =
          has_device(kind) ? device_of(number(segment, "device")) : std::uint16_t{0};
      SegmentSnapshot facts{
          .place = {.kind = kind, .device = device},
          .address = number(segment, "address"),
          .total_size = bytes_of(segment, "total_size"),
          .is_small = pickle_.text(pickle_.at(segment, "segment_type")) == "small",
          .is_expandable = number(segment, "is_expandable") != 0,
          .first_block = static_cast<std::uint32_t>(run_.blocks.size())};
      const bool is_same = !run_.segments.empty() && run_.segments.back().place == facts.place;
      if (is_same && facts.address < end) return fail("expected segments that do not overlap");
      end = facts.address + facts.total_size;
      add_blocks(segment, facts);
      run_.segments.push_back(facts);
    }
  }

  void add_blocks(Value segment, SegmentSnapshot& facts) {
    Address at = facts.address;
    for (const Value& block : pickle_.items(pickle_.at(segment, "blocks"))) {
      if (!spend()) return;
      BlockSnapshot one{
          .address = at, .size = bytes_of(block, "size"), .requested_size = requested_of(block)};
      const std::string_view state = pickle_.text(pickle_.at(block, "state"));
      if (state == "active_allocated") {
        one.state = BlockState::active_allocated;
      } else if (state != "inactive") {
        one.state = BlockState::active_pending_free;  // older versions: "active_awaiting_free"
      }
      if (one.state != BlockState::inactive) count(segment, block, one, facts);
      at += one.size;
      ++facts.block_count;
      run_.blocks.push_back(one);
    }
    if (at != facts.address + facts.total_size) {
      fail("expected blocks that add up to their segment, at " + std::to_string(facts.address));
    }
  }

  void count(Value segment, Value block, BlockSnapshot& one, SegmentSnapshot& facts) {
    facts.active_size += one.size;
    facts.requested_size += one.requested_size;
    const Value from =
        pickle_.at(block, "frames").type == Pickle::Type::list ? block : history_of(block);
    one.tag = history_.live_block(
        {.place = facts.place, .address = one.address, .bytes = one.requested_size}, [&] {
          return tag_of(site_of(from), facts.place, one.requested_size, number(segment, "stream"),
                        0);
        });
    if (one.state == BlockState::active_allocated) facts.allocated_size += one.size;
  }

  void say_what_is_not_known() {
    std::vector<std::string>& notes = run_.names.warnings;
    notes.emplace_back(
        "a snapshot of PyTorch tells what its allocator gave to tensors, not who ran it, on which "
        "device, or what else was on it; CUDA calls and their times are not known");
    if (!run_.has_history) {
      notes.emplace_back(
          "the snapshot has no history (torch.cuda.memory._record_memory_history(), "
          "include_traces): peaks and totals are of what was live when it was taken");
      return;
    }
    if (const std::string left_out = history_.left_out(); !left_out.empty()) {
      notes.push_back("the history leaves out " + left_out +
                      " (skip_actions): what was held meanwhile is not known exactly");
    }
    if (history_.earlier_count() != 0) {
      notes.push_back("the history begins with " + counted(history_.earlier_count(), "allocation") +
                      " of " + bytes_text(history_.earlier_bytes()) + " that were made before it");
    }
  }

  const Pickle pickle_;
  std::uint64_t budget_;
  ImportedRun& run_;
  ImportedNames names_;
  std::string problem_;
  std::vector<Entry> entries_;
  std::vector<Entry> marks_;  // beginnings and ends of annotations
  std::size_t mark_ = 0;
  std::unordered_map<std::uint16_t, std::vector<std::uint32_t>> open_;
  std::unordered_map<std::uint64_t, std::uint32_t> sites_;  // by the list of frames
  TorchHistory history_;
};

}  // namespace

std::string read_torch_snapshot(std::string_view bytes, ImportedRun& run) {
  return TorchSnapshot(bytes, run).read();
}

}  // namespace vramscope
