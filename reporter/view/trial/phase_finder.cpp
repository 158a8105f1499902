// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/phase_finder.h"

#include <algorithm>

namespace vramscope {

std::string name_of(const RangeFact& range) {
  return range.domain.empty() ? range.name : range.domain + ":" + range.name;
}

PhaseFinder::PhaseFinder(const TraceNames& names, TrialPhase* phase)
    : names_(names), phase_(phase) {
  if (phase_ == nullptr) return;
  list_known();
  find_marks();
  if (clocks_.empty()) find_ranges();
}

// All of them where all were kept, else those of a name that repeats, evenly spread.
void PhaseFinder::find_marks() {
  for (const MarkFact& mark : names_.facts.marks) {
    if (mark.name == phase_->name) clocks_.push_back(mark.clock_ns);
  }
  phase_->marks = clocks_.size();
  for (const RepeatedMark& mark : names_.facts.repeated_marks) {
    if (mark.name != phase_->name || mark.marks <= clocks_.size()) continue;
    phase_->marks = mark.marks;
    clocks_ = mark.clocks_ns;
  }
  std::ranges::sort(clocks_);
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
