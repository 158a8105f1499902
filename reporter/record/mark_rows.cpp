// Counts marks by name, in bounded memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/mark_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace vramscope {

namespace {

// Returns n for this number of marks: each n-th mark keeps its time.
std::uint64_t stride_of(std::uint64_t marks) {
  return std::bit_ceil((marks + MarkRows::kMostClocks - 1) / MarkRows::kMostClocks);
}

}  // namespace

std::string MarkRows::text_of(std::string_view domain, std::string_view name) {
  std::string text(domain.substr(0, kMaxName));
  if (!text.empty()) text += ':';
  text += name.substr(0, kMaxName);
  return text;
}

bool MarkRows::Row::is(std::string_view domain, std::string_view name) const noexcept {
  return domain_bytes == domain.size() && name_bytes == name.size() &&
         std::memcmp(text.data(), domain.data(), domain.size()) == 0 &&
         std::memcmp(text.data() + domain.size(), name.data(), name.size()) == 0;
}

void MarkRows::Row::begin(std::string_view domain, std::string_view name) noexcept {
  marks.store(0, std::memory_order_release);
  domain_bytes = static_cast<std::uint32_t>(domain.copy(text.data(), domain.size()));
  name_bytes = static_cast<std::uint32_t>(name.copy(text.data() + domain_bytes, name.size()));
}

void MarkRows::Row::add(std::uint64_t clock_ns) noexcept {
  const std::uint64_t before = marks.load(std::memory_order_relaxed);
  const std::uint64_t stride = stride_of(before + 1);
  if (before != 0 && stride != stride_of(before)) {
    for (std::size_t i = 1; i < kMostClocks / 2; ++i) clocks_ns[i].store(clocks_ns[2 * i].load());
  }
  if (before % stride == 0) clocks_ns[before / stride].store(clock_ns, std::memory_order_relaxed);
  marks.store(before + 1, std::memory_order_release);
}

// A process that ended in the middle of a change may have left a time twice, or times out of order.
RepeatedMark MarkRows::Row::fact() const {
  RepeatedMark fact{.name = {}, .marks = marks.load(std::memory_order_acquire), .clocks_ns = {}};
  const auto in_domain = std::min<std::size_t>(domain_bytes, kMaxName);
  const auto in_name = std::min<std::size_t>(name_bytes, kMaxName);
  fact.name = text_of({text.data(), in_domain}, {text.data() + in_domain, in_name});
  const std::uint64_t stride = stride_of(fact.marks);
  for (std::uint64_t i = 0; i < kMostClocks && i * stride < fact.marks; ++i) {
    const std::uint64_t clock_ns = clocks_ns[i].load(std::memory_order_relaxed);
    if (fact.clocks_ns.empty() || clock_ns >= fact.clocks_ns.back()) {
      fact.clocks_ns.push_back(clock_ns);
    }
  }
  return fact;
}

MarkRows::Row* MarkRows::row_for(std::string_view domain, std::string_view name) noexcept {
  Row* oldest = nullptr;
  for (Row& row : rows_) {
    const std::uint64_t marks = row.marks.load(std::memory_order_relaxed);
    if (marks != 0 && row.is(domain, name)) return &row;
    const auto is_older = [&] { return row.clocks_ns[0].load() < oldest->clocks_ns[0].load(); };
    if (marks == 0 || (marks == 1 && (oldest == nullptr || is_older()))) oldest = &row;
    if (marks == 0) break;  // the rows behind a free row are free
  }
  if (oldest != nullptr) oldest->begin(domain, name);
  return oldest;
}

void MarkRows::count(std::uint64_t clock_ns, std::string_view domain,
                     std::string_view name) noexcept {
  Row* const row = row_for(domain.substr(0, kMaxName), name.substr(0, kMaxName));
  if (row != nullptr) row->add(clock_ns);
}

void MarkRows::Row::copy_from(const Row& other) noexcept {
  domain_bytes = other.domain_bytes;
  name_bytes = other.name_bytes;
  text = other.text;
  for (std::size_t i = 0; i < kMostClocks; ++i) clocks_ns[i].store(other.clocks_ns[i].load());
  marks.store(other.marks.load(), std::memory_order_release);
}

void MarkRows::copy_from(const MarkRows& other) noexcept {
  for (std::size_t i = 0; i < kMost; ++i) rows_[i].copy_from(other.rows_[i]);
}

std::vector<RepeatedMark> MarkRows::facts(std::uint64_t least) const {
  std::vector<RepeatedMark> facts;
  for (const Row& row : rows_) {
    if (row.marks.load(std::memory_order_acquire) >= std::max<std::uint64_t>(least, 1)) {
      facts.push_back(row.fact());
    }
  }
  return facts;
}

}  // namespace vramscope
