// MarkRows counts the marks that the program sets again and again, by their names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reporter/ground/axes.h"

namespace vramscope {

// Has room for kMost names. When all rows are in use, a new name takes the row of the oldest name
// that came only once, so that names which never come again ("step 17") push nothing out that
// repeats. If there is no such row, the new name is not counted. May lie in a live file, where the
// process may end amid any change.
// Threads: one writer; any reader of another process's, once that has ended.
class MarkRows {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMaxName = 256;  // bytes kept of a name, and of its domain's
  static constexpr std::uint64_t kMostClocks = 64;

  void count(std::uint64_t clock_ns, std::string_view domain, std::string_view name) noexcept;
  void copy_from(const MarkRows& other) noexcept;
  // Of those that came `least` times or more, in the order in which they got their rows. What a
  // damaged row has is another value, or left out. May throw bad_alloc.
  [[nodiscard]] std::vector<RepeatedMark> facts(std::uint64_t least) const;

  // Names of a domain other than the default one begin with that: "domain:name".
  [[nodiscard]] static std::string text_of(std::string_view domain, std::string_view name);

 private:
  // The times of mark 0, n, 2n, ...: n is the least power of two by which all have room.
  struct Row {
    std::atomic<std::uint64_t> marks{0};  // 0: the row is free
    std::uint32_t domain_bytes = 0;
    std::uint32_t name_bytes = 0;
    std::array<char, 2 * kMaxName> text{};  // of the domain, then of the name
    std::array<std::atomic<std::uint64_t>, kMostClocks> clocks_ns{};

    [[nodiscard]] bool is(std::string_view domain, std::string_view name) const noexcept;
    void begin(std::string_view domain, std::string_view name) noexcept;
    void add(std::uint64_t clock_ns) noexcept;
    void copy_from(const Row& other) noexcept;
    [[nodiscard]] RepeatedMark fact() const;
  };
  [[nodiscard]] Row* row_for(std::string_view domain, std::string_view name) noexcept;

  std::array<Row, kMost> rows_{};
};

}  // namespace vramscope
