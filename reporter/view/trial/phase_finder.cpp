// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/phase_finder.h"

#include <algorithm>
#include <bit>

namespace vramscope {

std::string name_of(const RangeFact& range) {
  return range.domain.empty() ? range.name : range.domain + ":" + range.name;
}

KnownMarks marks_named(const RecorderFacts& facts, std::string_view name) {
  KnownMarks marks;
  for (const MarkFact& mark : facts.marks) {
    if (mark.name == name) marks.clocks_ns[++marks.all] = mark.clock_ns;
  }
  for (const RepeatedMark& mark : facts.repeated_marks) {
    if (mark.name != name || mark.clocks_ns.empty()) continue;
    // The times are those of marks 0, n, 2n, ..., as MarkRows keeps them.
    const std::uint64_t sparsest = (mark.marks + mark.clocks_ns.size() - 1) / mark.clocks_ns.size();
    const std::uint64_t step = std::bit_ceil(sparsest);
    // A name that was forgotten meanwhile is counted anew.
    const auto is_before = [&](const auto& kept) { return kept.second < mark.clocks_ns.front(); };
    const auto before = static_cast<std::uint64_t>(
        std::count_if(marks.clocks_ns.begin(), marks.clocks_ns.end(), is_before));
    for (std::size_t i = 0; i < mark.clocks_ns.size(); ++i) {
      marks.clocks_ns.try_emplace(before + 1 + i * step, mark.clocks_ns[i]);
    }
    marks.all = std::max(marks.all, before + mark.marks);
  }
  return marks;
}

PhaseFinder::PhaseFinder(const TraceNames& names, TrialPhase* phase)
    : names_(names), phase_(phase) {
  if (phase_ == nullptr) return;
  list_known();
  find_marks();
  if (clocks_.empty()) find_ranges();
}

// The first ones, and evenly spread later ones.
void PhaseFinder::find_marks() {
  const KnownMarks marks = marks_named(names_.facts, phase_->name);
  phase_->marks = marks.all;
  for (const auto& [number, clock_ns] : marks.clocks_ns) {
    numbers_.push_back(number);
    clocks_.push_back(clock_ns);
  }
  phase_->is_mark = !clocks_.empty();
}

// A range lies in itself, and in those around it, which have lower numbers.
void PhaseFinder::find_ranges() {
  const std::vector<RangeFact>& ranges = names_.facts.ranges;
  ranges_.resize(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool is_it = i != 0 && name_of(ranges[i]) == phase_->name;
    const std::uint32_t parent = ranges[i].parent;
    ranges_[i] = is_it || (parent < i && ranges_[parent]);
    if (is_it) phase_->marks += ranges[i].entered;
  }
}

void PhaseFinder::list_known() {
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::count(phase_->known, name) == 0) {
      phase_->known.push_back(name);
    }
  };
  for (const RepeatedMark& mark : names_.facts.repeated_marks) add(mark.name);
  for (const RangeFact& range : names_.facts.ranges) {
    if (range.entered != 1) add(name_of(range));
  }
}

void PhaseFinder::begin(std::uint64_t step) {
  phase_->begins.push_back(step);
  phase_->numbers.push_back(next_ < numbers_.size() ? numbers_[next_] : next_ + 1);
  ++next_;
}

bool PhaseFinder::is_inside(Tag tag) const {
  if (tag >= names_.facts.tags.size()) return false;
  const std::uint32_t range = names_.facts.tags[tag].values[static_cast<std::size_t>(Axis::range)];
  return range < ranges_.size() && ranges_[range];
}

void PhaseFinder::allocated(std::uint32_t thread, Tag tag, std::uint64_t step) {
  if (ranges_.empty()) return;
  const bool is_inside_now = is_inside(tag);
  if (is_inside_now && !thread_) thread_ = thread;
  if (thread_ != thread) return;
  if (is_inside_now && !is_in_) begin(step);
  is_in_ = is_inside_now;
}

}  // namespace vramscope
