// allocating_threads() counts the threads whose allocations a report's figures are of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace vramscope {

struct AxisEntry;
struct Report;

// Returns the threads that allocated in rows that count; nothing: not known, because no row tells
// the thread, or some only tell that it is one of others. May throw bad_alloc.
[[nodiscard]] std::optional<std::size_t> threads_among(
    const std::vector<AxisEntry>& axes, const std::function<bool(const AxisEntry&)>& counts);

// Returns the threads that made the allocations of memory that the report's figures are of. Of call
// sites or owners that a filter chose, they are known only if one thread made all allocations.
[[nodiscard]] std::optional<std::size_t> allocating_threads(const Report& report);

}  // namespace vramscope
