// Numbers the paths of ranges.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/range_table.h"

#include <algorithm>
#include <utility>

#include "reporter/base/facts.h"

namespace vramscope {

constinit thread_local RangeTable::Thread RangeTable::thread{};

RangeTable::RangeTable() { ranges_.emplace_back(); }  // number 0: outside every range

std::uint32_t RangeTable::domain_number(std::string_view domain) {
  const auto known = domains_.find(domain);
  if (known != domains_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(domains_.size());
  domains_.emplace(domain, number);
  return number;
}

std::uint32_t RangeTable::number_of(std::uint32_t parent, std::string_view domain,
                                    std::string_view name) {
  name = name.substr(0, kMaxName);
  domain = domain.substr(0, kMaxName);
  std::tuple key(parent, std::string(domain), std::string(name));
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) {
    count_entered(known->second);
    return known->second;
  }
  if (ranges_.size() > kMax) return kOtherValue;
  const auto number = static_cast<std::uint32_t>(ranges_.size());
  ranges_.push_back({parent, std::string(domain), std::string(name), 0});
  numbers_.emplace(std::move(key), number);
  count_entered(number);
  return number;
}

int RangeTable::push(std::string_view domain, std::string_view name) noexcept {
  const std::uint32_t parent = current();
  const std::size_t depth = thread.depth++;
  if (depth >= kMaxDepth) return static_cast<int>(depth);
  Open& open = thread.open[depth];
  open = {kOtherValue, 0, newest_start_.load(std::memory_order_relaxed)};
  bool came = false;
  try {
    const SystemLock guard(lock_);
    const std::size_t before = ranges_.size();
    open.domain = domain_number(domain);
    if (parent != kOtherValue) open.range = number_of(parent, domain, name);
    came = ranges_.size() != before;
  } catch (...) {  // no memory for the name: the range counts as one of the others
  }
  tell_came(came);
  return static_cast<int>(depth);
}

// Each domain is a stack of its own, and the stacks interleave: pop() removes the last range of
// this domain.
int RangeTable::pop(std::string_view domain) noexcept {
  if (thread.depth == 0) return -1;
  if (thread.depth > kMaxDepth) return static_cast<int>(--thread.depth);
  std::uint32_t number = 0;
  {
    const SystemLock guard(lock_);
    const auto known = domains_.find(domain);
    if (known == domains_.end()) return -1;
    number = known->second;
  }
  std::size_t at = thread.depth;
  while (at != 0 && thread.open[at - 1].domain != number) --at;
  if (at == 0) return -1;
  std::copy(thread.open + at, thread.open + thread.depth, thread.open + at - 1);
  --thread.depth;
  return static_cast<int>(at - 1);
}

std::uint64_t RangeTable::start(std::string_view domain, std::string_view name) noexcept {
  std::uint64_t id = 0;
  bool came = false;
  {
    const SystemLock guard(lock_);
    const std::size_t before = ranges_.size();
    id = ++last_id_;
    try {
      started_.push_back({id, kOtherValue});
      started_.back().range = number_of(0, domain, name);
    } catch (...) {  // no memory: the range counts as one of the others, or is not kept
    }
    came = ranges_.size() != before;
    newest_range_.store(started_.empty() ? 0 : started_.back().range, std::memory_order_relaxed);
    newest_start_.store(id, std::memory_order_release);
  }
  tell_came(came);
  return id;
}

void RangeTable::end(std::uint64_t id) noexcept {
  const SystemLock guard(lock_);
  std::erase_if(started_, [id](const Started& open) { return open.id == id; });
  newest_range_.store(started_.empty() ? 0 : started_.back().range, std::memory_order_relaxed);
  newest_start_.store(started_.empty() ? 0 : started_.back().id, std::memory_order_release);
}

std::uint32_t RangeTable::current() const noexcept {
  const std::uint64_t newest = newest_start_.load(std::memory_order_acquire);
  const std::size_t depth = std::min(thread.depth, kMaxDepth);
  if (depth != 0 && newest <= thread.open[depth - 1].after_start) {
    return thread.open[depth - 1].range;
  }
  return newest != 0 ? newest_range_.load(std::memory_order_relaxed) : 0;
}

std::vector<RangeFact> RangeTable::facts(std::size_t known) const {
  const SystemLock guard(lock_);
  return rows_from(ranges_, known);
}

void RangeTable::mark(std::uint64_t clock_ns, std::string_view domain,
                      std::string_view name) noexcept {
  const std::uint64_t before = marks_.fetch_add(1, std::memory_order_relaxed);
  if (const Watcher* const by = watched()) by->counts->marks.fetch_add(1);
  bool came = false;
  try {
    const SystemLock guard(lock_);
    rows_.count(clock_ns, domain, name);
    if (const Watcher* const now = watched()) now->counts->rows.count(clock_ns, domain, name);
    if (before < kMostMarks) {
      kept_marks_.push_back({clock_ns, MarkRows::text_of(domain, name)});
      came = true;
    }
  } catch (...) {  // no memory for the name: the mark is only counted
  }
  tell_came(came);
}

std::vector<MarkFact> RangeTable::kept_marks(std::size_t known) const {
  const SystemLock guard(lock_);
  return rows_from(kept_marks_, known);
}

void RangeTable::copy_to(RecorderFacts& facts) const {
  facts.range_marks = marks_.load(std::memory_order_relaxed);
  const SystemLock guard(lock_);
  facts.ranges = ranges_;
  facts.marks = kept_marks_;
  facts.repeated_marks = rows_.facts(kLeastPasses);
}

void RangeTable::watch(const Watcher& watcher) noexcept {
  {
    const SystemLock guard(lock_);
    if (watcher_.counts != nullptr) return;
    watcher_ = watcher;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      watcher.counts->entered[i].store(ranges_[i].entered);
    }
    watcher.counts->marks.store(marks_.load());
    watcher.counts->rows.copy_from(rows_);
    watched_.set(&watcher_);
  }
  tell_came(true);
}

void RangeTable::tell_came(bool came) const noexcept {
  if (!came) return;
  if (const Watcher* const by = watched()) by->came(by->context);
}

void RangeTable::count_entered(std::uint32_t number) {
  const std::uint64_t entered = ++ranges_[number].entered;
  if (const Watcher* const by = watched())
    by->counts->entered[number].store(entered, std::memory_order_relaxed);
}

}  // namespace vramscope
