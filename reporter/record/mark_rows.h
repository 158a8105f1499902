// MarkRows counts the marks that the program sets repeatedly, by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reporter/base/axes.h"

namespace vramscope {

// It has room for kMost names. When all rows are in use, a new name takes the row of the oldest
// name that was set only once, so that names which never return ("step 17") do not displace names
// that repeat. Without such a row the new name is not counted. The rows may lie in a live file,
// where the process may end in the middle of any change. Threads: one writer; any reader in another
// process, after the writer's process has ended.
class MarkRows {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMaxName = 256;  // bytes kept of a name, and of its domain's name
  static constexpr std::uint64_t kMostClocks = 64;

  void count(std::uint64_t clock_ns, std::string_view domain, std::string_view name) noexcept;
  void copy_from(const MarkRows& other) noexcept;
  // Returns the marks that were set at least `least` times, in the order of their rows. A damaged
  // row gives wrong values or is left out. May throw bad_alloc.
  [[nodiscard]] std::vector<RepeatedMark> facts(std::uint64_t least) const;

  // Returns the full name. Names of a domain other than the default one begin with it:
  // "domain:name".
  [[nodiscard]] static std::string text_of(std::string_view domain, std::string_view name);

 private:
  // Keeps the times of marks 0, n, 2n, ...; n is the least power of two for which all of them fit.
  struct Row {
    std::atomic<std::uint64_t> marks{0};  // 0: the row is free
    std::uint32_t domain_bytes = 0;
    std::uint32_t name_bytes = 0;
    std::array<char, 2 * kMaxName> text{};  // the domain's name, then the mark's
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
